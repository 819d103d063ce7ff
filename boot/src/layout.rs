//! Where the image and its stacks lie, from the linker's symbols.
//!
//! ```text
//! per core, from low to high:
//!   guard page │ exception stack │ guard page │ main stack
//!    unmapped     SP_EL1            unmapped     SP_EL0
//! ```

use core::ops::Range;

/// Number of cores of a BCM2711.
pub const N_CORES: usize = 4;

/// Bytes of the page that is left unmapped under each stack.
pub const GUARD_BYTES: usize = 4096;
/// Bytes of a core's exception stack.
pub const EXCEPTION_STACK_BYTES: usize = 32 << 10;
/// Bytes of a core's main stack.
pub const MAIN_STACK_BYTES: usize = 512 << 10;
/// What an untouched word of a stack holds.
pub const STACK_PAINT: u64 = 0x5AFE_5AFE_5AFE_5AFE;

/// The stacks of one core. `repr(C)`: the assembly computes with these offsets.
#[repr(C, align(4096))]
pub struct CoreStacks {
    exception_guard: [u8; GUARD_BYTES],
    exception: [u8; EXCEPTION_STACK_BYTES],
    main_guard: [u8; GUARD_BYTES],
    main: [u8; MAIN_STACK_BYTES],
}

impl CoreStacks {
    /// Bytes from the start of a core's stacks to the top of its exception stack.
    pub const EXCEPTION_TOP: usize =
        core::mem::offset_of!(CoreStacks, exception) + EXCEPTION_STACK_BYTES;
    /// Bytes from the start of a core's stacks to the top of its main stack.
    pub const MAIN_TOP: usize = core::mem::offset_of!(CoreStacks, main) + MAIN_STACK_BYTES;
}

const _: () = assert!(CoreStacks::MAIN_TOP == size_of::<CoreStacks>());
const _: () = assert!(size_of::<CoreStacks>().is_multiple_of(4096));

/// Which stack of a core an address is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackPart {
    /// The unmapped page under the exception stack.
    ExceptionGuard,
    /// The exception stack.
    Exception,
    /// The unmapped page under the main stack.
    MainGuard,
    /// The main stack.
    Main,
}

/// The core and the part of its stacks that lie `offset` bytes after the start of all stacks.
pub fn stack_part(offset: usize) -> Option<(usize, StackPart)> {
    let core = offset / size_of::<CoreStacks>();
    let inside = offset % size_of::<CoreStacks>();
    let part = if inside < GUARD_BYTES {
        StackPart::ExceptionGuard
    } else if inside < CoreStacks::EXCEPTION_TOP {
        StackPart::Exception
    } else if inside < CoreStacks::EXCEPTION_TOP + GUARD_BYTES {
        StackPart::MainGuard
    } else {
        StackPart::Main
    };
    (core < N_CORES).then_some((core, part))
}

/// The mapped parts of a core's stacks, as offsets from the start of all stacks: exception, main.
pub fn mapped_stacks(core: usize) -> [Range<usize>; 2] {
    let base = core * size_of::<CoreStacks>();
    [
        base + CoreStacks::EXCEPTION_TOP - EXCEPTION_STACK_BYTES..base + CoreStacks::EXCEPTION_TOP,
        base + CoreStacks::MAIN_TOP - MAIN_STACK_BYTES..base + CoreStacks::MAIN_TOP,
    ]
}

/// The main stack of `core`, as offsets from the start of all stacks.
///
/// # Panics
/// For a core that does not exist.
pub fn main_stack(core: usize) -> Range<usize> {
    assert!(core < N_CORES, "there is no core {core}");
    let [_, main] = mapped_stacks(core);
    main
}

#[cfg(target_os = "none")]
pub use target::{
    Image, STACKS, core_id, image, mapped_stack_around, stack_at, stack_used_bytes, stacks_range,
    symbols,
};

#[cfg(target_os = "none")]
mod target {
    use core::cell::UnsafeCell;
    use core::ops::Range;

    use super::{
        CoreStacks, N_CORES, STACK_PAINT, StackPart, main_stack, mapped_stacks, stack_part,
    };

    /// Memory that only stack pointers reach.
    #[allow(dead_code, reason = "stack pointers alone reach it")]
    pub struct Stacks(UnsafeCell<[CoreStacks; N_CORES]>);

    // SAFETY: the cell is never read or written as a Rust value.
    unsafe impl Sync for Stacks {}

    const EMPTY: CoreStacks = CoreStacks {
        exception_guard: [0; _],
        exception: [0; _],
        main_guard: [0; _],
        main: [0; _],
    };

    /// The stacks of all cores.
    #[unsafe(link_section = ".stacks")]
    pub static STACKS: Stacks = Stacks(UnsafeCell::new([EMPTY; N_CORES]));

    unsafe extern "C" {
        static __image_start: u8;
        static __text_end: u8;
        static __rodata_end: u8;
        static __symbols_start: u8;
        static __symbols_end: u8;
        static __bss_end: u8;
        static __image_end: u8;
    }

    /// The number of the core that asks, 0-3 (MPIDR.Aff0).
    pub fn core_id() -> usize {
        use aarch64_cpu::registers::{MPIDR_EL1, Readable};
        MPIDR_EL1.get() as usize & (N_CORES - 1)
    }

    /// The parts of the image, as addresses.
    #[derive(Clone, Debug)]
    pub struct Image {
        /// Instructions.
        pub text: Range<u64>,
        /// Constants.
        pub rodata: Range<u64>,
        /// Variables.
        pub data: Range<u64>,
        /// All stacks with their guards.
        pub stacks: Range<u64>,
    }

    /// Where the linker has put the image.
    pub fn image() -> Image {
        let [start, text, rodata, bss, end] = [
            &raw const __image_start,
            &raw const __text_end,
            &raw const __rodata_end,
            &raw const __bss_end,
            &raw const __image_end,
        ]
        .map(|symbol| symbol.addr() as u64);
        Image {
            text: start..text,
            rodata: text..rodata,
            data: rodata..bss,
            stacks: bss..end,
        }
    }

    /// The table of function names, which the build fills in.
    pub fn symbols() -> &'static [u8] {
        let [start, end] =
            [&raw const __symbols_start, &raw const __symbols_end].map(|symbol| symbol.addr());
        let table = core::ptr::with_exposed_provenance(start);
        // SAFETY: the linker keeps these bytes among the constants; nobody writes them.
        unsafe { core::slice::from_raw_parts(table, end - start) }
    }

    /// The addresses of all stacks.
    pub fn stacks_range() -> Range<u64> {
        image().stacks
    }

    /// The core and the stack that `addr` is about, guards included.
    pub fn stack_at(addr: u64) -> Option<(usize, StackPart)> {
        let offset = addr.checked_sub(stacks_range().start)?;
        stack_part(usize::try_from(offset).ok()?)
    }

    /// The mapped stack that `addr` is on.
    pub fn mapped_stack_around(addr: u64) -> Option<Range<u64>> {
        let (core, part) = stack_at(addr)?;
        let [exception, main] = mapped_stacks(core);
        let stack = match part {
            StackPart::Exception => exception,
            StackPart::Main => main,
            StackPart::ExceptionGuard | StackPart::MainGuard => return None,
        };
        let base = stacks_range().start;
        Some(base + stack.start as u64..base + stack.end as u64)
    }

    /// Bytes of the core's main stack that have ever been used.
    ///
    /// # Panics
    /// For a core that does not exist.
    pub fn stack_used_bytes(core: usize) -> usize {
        let main = main_stack(core);
        let base = stacks_range().start as usize;
        let words = (base + main.start..base + main.end).step_by(8);
        let free = words
            .take_while(|&addr| {
                let word: *const u64 = core::ptr::with_exposed_provenance(addr);
                // SAFETY: `addr` is inside a mapped stack; a racing write of its owner only changes
                // where the count stops.
                unsafe { word.read_volatile() == STACK_PAINT }
            })
            .count();
        main.len() - 8 * free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_named_after_the_stack_they_hit() {
        let stride = size_of::<CoreStacks>();
        assert_eq!(stack_part(0), Some((0, StackPart::ExceptionGuard)));
        assert_eq!(stack_part(GUARD_BYTES), Some((0, StackPart::Exception)));
        assert_eq!(
            stack_part(CoreStacks::EXCEPTION_TOP),
            Some((0, StackPart::MainGuard))
        );
        assert_eq!(stack_part(stride - 1), Some((0, StackPart::Main)));
        assert_eq!(stack_part(3 * stride), Some((3, StackPart::ExceptionGuard)));
        assert_eq!(stack_part(4 * stride), None);
    }

    #[test]
    #[should_panic(expected = "there is no core 4")]
    fn a_core_that_does_not_exist_has_no_stack() {
        main_stack(N_CORES);
    }

    #[test]
    fn mapped_stacks_leave_a_guard_page_under_each() {
        for core in 0..N_CORES {
            let [exception, main] = mapped_stacks(core);
            for stack in [&exception, &main] {
                assert!(stack.start.is_multiple_of(4096) && stack.len().is_multiple_of(4096));
                let (owner, below) = stack_part(stack.start - 1).unwrap();
                assert_eq!(owner, core);
                assert!(matches!(
                    below,
                    StackPart::ExceptionGuard | StackPart::MainGuard
                ));
            }
            assert_eq!(main.start - exception.end, GUARD_BYTES);
        }
    }
}
