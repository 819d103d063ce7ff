//! The one place where an address becomes a reference to registers.
//!
//! Every driver holds an `Mmio<Registers>` and reaches its registers through `Deref`; nothing else
//! in this crate dereferences an address. A host test builds the same driver on `fake::block`.

use core::ops::Deref;
use core::ptr::NonNull;

/// A block of memory-mapped registers of type `T`.
#[derive(Debug)]
pub struct Mmio<T> {
    registers: NonNull<T>,
}

impl<T> Mmio<T> {
    /// Registers at the address `addr`.
    ///
    /// # Safety
    /// - `addr` is not zero, is aligned for `T`, and `size_of::<T>()` bytes from it are the register
    ///   block that `T` describes, mapped as Device memory for as long as the value lives.
    /// - `T` consists of volatile register cells only (`tock-registers` types).
    /// - Nothing else in the program drives the same block.
    pub const unsafe fn new(addr: usize) -> Self {
        assert!(addr != 0, "no register block is at address zero");
        match NonNull::new(core::ptr::with_exposed_provenance_mut(addr)) {
            Some(registers) => Self { registers },
            None => unreachable!(),
        }
    }
}

impl<T> Deref for Mmio<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `new`'s caller vouched for the address and the mapping.
        unsafe { self.registers.as_ref() }
    }
}

// SAFETY: a register block belongs to no thread, and `new`'s caller gave this value sole use of it.
unsafe impl<T: Send> Send for Mmio<T> {}

/// Fake blocks for the tests of drivers.
#[cfg(test)]
pub(crate) mod fake {
    use tock_registers::interfaces::{Readable, Writeable};
    use tock_registers::registers::InMemoryRegister;

    use super::Mmio;

    /// The memory behind a driver, as words by their byte offset.
    #[derive(Clone, Copy)]
    pub(crate) struct Words(&'static [InMemoryRegister<u32>]);

    impl Words {
        pub(crate) fn get(self, offset: usize) -> u32 {
            self.0[offset / 4].get()
        }

        pub(crate) fn set(self, offset: usize, value: u32) {
            self.0[offset / 4].set(value);
        }
    }

    /// A zeroed block for `T`, and its words.
    pub(crate) fn block<T>() -> (Words, Mmio<T>) {
        let words: Vec<_> = (0..size_of::<T>().div_ceil(4))
            .map(|_| InMemoryRegister::<u32>::new(0))
            .collect();
        let words: &'static [_] = words.leak();
        let addr = words.as_ptr().expose_provenance();
        // SAFETY: leaked memory of `T`'s size; both views go through volatile cells.
        (Words(words), unsafe { Mmio::new(addr) })
    }
}

#[cfg(test)]
mod tests {
    use super::Mmio;
    use tock_registers::interfaces::{Readable, Writeable};
    use tock_registers::registers::InMemoryRegister;

    #[test]
    fn reads_and_writes_reach_the_block() {
        let block = Box::leak(Box::new([0u32; 4]));
        let addr = core::ptr::from_mut(block).expose_provenance();
        // SAFETY: `block` is leaked, aligned, and reached through `mmio` alone.
        let mmio: Mmio<[InMemoryRegister<u32>; 4]> = unsafe { Mmio::new(addr) };
        mmio[2].set(0xC0FF_EE00);
        assert_eq!(mmio.each_ref().map(Readable::get), [0, 0, 0xC0FF_EE00, 0]);
    }
}
