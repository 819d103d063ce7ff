//! Memory that someone else reads or writes: addresses as they see them, and our caches' part.
//!
//! **Resources**: docs/hardware.md MEM-4, MMU-6, MMU-7.

#[cfg(test)]
pub(crate) mod shadow;

/// Keeps caches and memory in step. Nothing on this chip is coherent with the cores, and QEMU has no
/// caches, so that a missing call shows on a board only.
pub trait Caches {
    /// Writes the range's dirty lines to memory and drops the lines. Before a device reads or writes
    /// the range, and again before the core reads what the device wrote.
    fn clean_and_invalidate(&self, addr: usize, len_bytes: usize);
}

/// The VideoCore's uncached view of memory.
const UNCACHED_ALIAS: u32 = 0xC000_0000;
/// What the 30 address bits of the legacy masters reach.
const REACH: usize = 1 << 30;

/// The address at which mailbox and legacy DMA see `len_bytes` from the physical `addr` on.
///
/// # Panics
/// If the memory is not below 1 GiB: nothing would fault, and something else would be overwritten.
pub fn bus_addr(addr: usize, len_bytes: usize) -> u32 {
    let end = addr.checked_add(len_bytes);
    assert!(
        end.is_some_and(|end| end <= REACH),
        "{len_bytes} bytes at {addr:#x} are out of the VideoCore's reach"
    );
    addr as u32 | UNCACHED_ALIAS
}

#[cfg(test)]
mod tests {
    use super::bus_addr;

    #[test]
    fn the_alias_is_added() {
        assert_eq!(bus_addr(0x0008_1000, 64), 0xC008_1000);
        assert_eq!(bus_addr(0x3FFF_FFC0, 64), 0xFFFF_FFC0);
    }

    #[test]
    #[should_panic(expected = "out of the VideoCore's reach")]
    fn memory_above_one_gigabyte_is_refused() {
        bus_addr(0x3FFF_FFC1, 64);
    }
}
