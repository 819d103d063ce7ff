//! The live translation tables: what is mapped when, and the barriers around each change.

use core::arch::asm;
use core::cell::UnsafeCell;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::POOL_TABLES;
use crate::layout::{self, N_CORES, mapped_stacks};
use crate::page_tables::{MapError, Mapping, Memory, PAGE_BYTES, PageTables, Table};
use crate::{ram, wait};

/// Peripherals as the ARM sees them in low-peripheral mode.
pub const PERIPHERALS: Range<u64> = ram::PERIPHERALS_START..ram::PERIPHERALS_END;

/// Page 0 holds the firmware's stub and the spin table until all cores are released.
pub const PAGE_ZERO: Range<u64> = 0..PAGE_BYTES;

/// The pool that the tables live in; the first one is the root.
pub struct Pool {
    tables: UnsafeCell<[Table; POOL_TABLES]>,
    used: UnsafeCell<usize>,
    busy: AtomicBool,
}

// SAFETY: `with_tables` hands out the contents to one caller at a time.
unsafe impl Sync for Pool {}

/// The tables of every core. The root comes first: `start.s` gives this address to TTBR0.
pub static TABLES: Pool = Pool {
    tables: UnsafeCell::new([Table::EMPTY; POOL_TABLES]),
    used: UnsafeCell::new(0),
    busy: AtomicBool::new(false),
};

const _: () = assert!(core::mem::offset_of!(Pool, tables) == 0);

unsafe extern "C" {
    fn __mmu_on();
    fn __led_off();
    fn __no_tables() -> !;
}

/// Maps the image, page 0 and the peripherals, then turns MMU and caches on. Core 0, once.
pub(crate) fn init() {
    // SAFETY: the only core that runs, before anything else knows the pool. No atomic here: with
    // caches off the bus has no exclusive monitor.
    let (tables, used) = unsafe { (&mut *TABLES.tables.get(), &mut *TABLES.used.get()) };
    let base = TABLES.tables.get().addr() as u64;
    let mut map = PageTables::new(tables, base, used);
    if map_image(&mut map).is_err() {
        // A bug of the linker script, and there is no console to say so.
        // SAFETY: blinks for ever, from registers alone.
        unsafe { __no_tables() };
    }
    // SAFETY: the tables identity-map the code that runs, its data and its stack; the lines of the
    // image were invalidated in `start.s` and written to memory directly since.
    unsafe {
        __led_off();
        __mmu_on();
    }
}

fn map_image(map: &mut PageTables<'_>) -> Result<(), MapError> {
    let image = layout::image();
    map.map(PAGE_ZERO, Memory::Data)?;
    map.map(image.text, Memory::Code)?;
    map.map(image.rodata, Memory::ReadOnly)?;
    map.map(image.data, Memory::Data)?;
    for core in 0..N_CORES {
        for stack in mapped_stacks(core) {
            let at = |offset: usize| image.stacks.start + offset as u64;
            map.map(at(stack.start)..at(stack.end), Memory::Data)?;
        }
    }
    map.map(PERIPHERALS, Memory::Device)
}

fn with_tables<R>(change: impl FnOnce(&mut PageTables<'_>) -> R) -> R {
    while TABLES.busy.swap(true, Ordering::Acquire) {
        wait::for_event();
    }
    // SAFETY: `busy` keeps every other caller out; the hardware walker only reads.
    let (tables, used) = unsafe { (&mut *TABLES.tables.get(), &mut *TABLES.used.get()) };
    let base = TABLES.tables.get().addr() as u64;
    let result = change(&mut PageTables::new(tables, base, used));
    TABLES.busy.store(false, Ordering::Release);
    // Not a bare `sev`: a core that wakes before it can see the store would sleep for ever.
    wait::wake();
    result
}

/// Maps `range`, which was not mapped before, onto itself: on all cores, at once.
///
/// # Safety
/// The range is RAM that exists and that nobody else owns (or peripherals, for
/// [`Memory::Device`]): the A72 reads and fetches ahead from whatever is mapped.
///
/// # Errors
/// See [`PageTables::map`].
pub unsafe fn map(range: Range<u64>, memory: Memory) -> Result<(), MapError> {
    let physical_addr = range.start;
    // SAFETY: the caller's.
    unsafe { map_at(range, physical_addr, memory) }
}

/// Maps `range`, which was not mapped before, onto as many addresses from `physical_addr` on.
///
/// # Safety
/// As for [`map`], of the physical addresses.
///
/// # Errors
/// See [`PageTables::map_at`].
pub unsafe fn map_at(
    range: Range<u64>,
    physical_addr: u64,
    memory: Memory,
) -> Result<(), MapError> {
    let result = with_tables(|tables| tables.map_at(range, physical_addr, memory));
    // SAFETY: barriers only. An invalid entry is never cached, so no TLB maintenance is needed; the
    // walker must see the stores before the next access, and that access must not have been fetched.
    unsafe { asm!("dsb ishst", "isb", options(nostack)) };
    result
}

/// Removes the mappings of `range` on all cores.
///
/// # Safety
/// Nothing uses the range any more.
///
/// # Errors
/// See [`PageTables::unmap`].
pub unsafe fn unmap(range: Range<u64>) -> Result<(), MapError> {
    let result = with_tables(|tables| tables.unmap(range));
    flush_tlbs();
    result
}

/// Changes what `range` may be used for on all cores: weights become read-only after loading.
///
/// # Safety
/// No reference disagrees with the new rights: nothing writes through a `&mut` that still lives, and
/// nothing executes what becomes data.
///
/// # Errors
/// See [`PageTables::protect`].
pub unsafe fn protect(range: Range<u64>, memory: Memory) -> Result<(), MapError> {
    let result = with_tables(|tables| tables.protect(range, memory));
    flush_tlbs();
    result
}

/// What `addr` is mapped as.
pub fn lookup(addr: u64) -> Option<Mapping> {
    with_tables(|tables| tables.lookup(addr))
}

/// What the hardware makes of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The physical address.
    pub physical_addr: u64,
    /// The memory's attribute, as in `MAIR_EL1`.
    pub attribute: u8,
    /// Its shareability: 0b10 outer, 0b11 inner. Device memory counts as outer.
    pub shareability: u8,
}

/// Asks the core itself to translate `addr` for a read (or for a write); nothing if that would fault.
pub fn translate(addr: u64, write: bool) -> Option<Translation> {
    // Masked: an interrupt that translates something itself would change the answer's register.
    crate::cpu::without_irqs(|| {
        let par: u64;
        // SAFETY: translates without accessing anything.
        unsafe {
            if write {
                asm!("at s1e1w, {}", "isb", "mrs {}, par_el1", in(reg) addr, out(reg) par);
            } else {
                asm!("at s1e1r, {}", "isb", "mrs {}, par_el1", in(reg) addr, out(reg) par);
            }
        }
        (par & 1 == 0).then_some(Translation {
            physical_addr: (par & 0x0000_FFFF_FFFF_F000) | (addr & 0xFFF),
            attribute: (par >> 56) as u8,
            shareability: (par >> 7) as u8 & 0b11,
        })
    })
}

fn flush_tlbs() {
    // SAFETY: maintenance and barriers only. Without the first barrier a walk could still read the
    // old entry; without the second the invalidation might not be complete on the other cores.
    unsafe {
        asm!(
            "dsb ishst",
            "tlbi vmalle1is",
            "dsb ish",
            "isb",
            options(nostack)
        )
    };
}
