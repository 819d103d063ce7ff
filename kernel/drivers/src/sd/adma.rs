//! ADMA2: the controller writes memory by itself, along a table of descriptors.
//!
//! Pure, and not yet seen on a board: QEMU's raspi4b has no DMA on either controller. What is here is
//! checked against the specification, and the kernel compares a DMA read with a PIO read before it
//! relies on either.
//!
//! ```text
//!   63            32 31           16 15          6 5   4   2   1     0
//!   bus address      length           reserved     act act int end   valid
//! ```
//!
//! Resources: SD Host Controller Simplified Specification 3.00, §1.13 (ADMA2). Address maps of EMMC2:
//! Linux `bcm2711.dtsi` (`emmc2bus`), edk2 `Platform/RaspberryPi/AcpiTables/Emmc.asl`.

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::InMemoryRegister;

/// Buffers begin at a cache line and are whole ones: what shares a line with the core's own data
/// would be lost when the line is dropped.
pub const ALIGNMENT: usize = 64;

/// Bytes per descriptor; a length of 0 means 65 536.
const PIECE_BYTES: usize = 65_536;
/// Bytes of the longest transfer.
pub const MAX_BYTES: usize = 8 << 20;
const MAX_PIECES: usize = MAX_BYTES / PIECE_BYTES;

const VALID: u32 = 1 << 0;
const END: u32 = 1 << 1;
/// Act 2: transfer data.
const TRANSFER: u32 = 1 << 5;

/// How EMMC2 sees memory: it depends on the silicon, and a wrong choice makes every read time out, or
/// go elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DmaMap {
    /// Stepping B0: physical address + 0xC000_0000, the first GiB only.
    Alias,
    /// Stepping C0: the physical address, below the peripherals.
    Identity,
}

impl DmaMap {
    /// The map of the chip whose revision register (0xFC40_4000) reads `chip_rev`.
    pub fn of_chip(chip_rev: u32) -> Self {
        if chip_rev & 0xFF >= 0x20 {
            Self::Identity
        } else {
            Self::Alias
        }
    }

    /// The map of `/emmc2bus` in the device tree, by its first bus address.
    pub fn of_bus_base(base: u64) -> Option<Self> {
        match base {
            0 => Some(Self::Identity),
            0xC000_0000 => Some(Self::Alias),
            _ => None,
        }
    }

    /// The maps to try, by what chip and device tree say.
    ///
    /// The chip knows best: a device tree may be another board's. Where neither tells, only the addresses of
    /// the newer stepping are tried: on the older one they lead to a time-out, while those of the older one
    /// would lead the newer one into somebody's memory.
    pub fn candidates(chip_rev: Option<u32>, bus_base: Option<u64>) -> &'static [Self] {
        let known = chip_rev.map(Self::of_chip);
        match known.or_else(|| bus_base.and_then(Self::of_bus_base)) {
            Some(Self::Identity) | None => &[Self::Identity],
            Some(Self::Alias) => &[Self::Alias],
        }
    }

    /// The controller's address of `len` bytes at the physical address `phys`; `None` where it
    /// cannot reach.
    pub fn bus_addr(self, phys: usize, len: usize) -> Option<u32> {
        let (end, offset) = match self {
            Self::Alias => (0x4000_0000, 0xC000_0000),
            Self::Identity => (0xFC00_0000, 0),
        };
        let fits = phys.checked_add(len)? <= end;
        fits.then(|| phys as u32 + offset)
    }
}

/// A descriptor table: lives below 1 GiB, so that every stepping reaches it.
#[repr(C, align(64))]
pub struct Table(Descriptors);

type Descriptors = [[InMemoryRegister<u32>; 2]; MAX_PIECES];

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

impl Table {
    /// An empty table.
    pub const fn new() -> Self {
        Self([const { [const { InMemoryRegister::new(0) }; 2] }; MAX_PIECES])
    }

    /// Describes `len` bytes at the bus address `addr`, both multiples of [`ALIGNMENT`].
    ///
    /// # Panics
    /// If `len` is 0 or more than [`MAX_BYTES`].
    pub fn describe(&mut self, addr: u32, len: usize) {
        assert!(
            (1..=MAX_BYTES).contains(&len),
            "a transfer has 1 to {MAX_BYTES} bytes"
        );
        let n = len.div_ceil(PIECE_BYTES);
        for (i, [attributes, address]) in self.0[..n].iter().enumerate() {
            let piece = (len - i * PIECE_BYTES).min(PIECE_BYTES);
            let end = if i + 1 == n { END } else { 0 };
            let length = (piece % PIECE_BYTES) as u32;
            attributes.set(length << 16 | TRANSFER | end | VALID);
            address.set(addr + (i * PIECE_BYTES) as u32);
        }
    }

    /// The words of descriptor `i`.
    pub fn descriptor(&self, i: usize) -> [u32; 2] {
        self.0[i].each_ref().map(Readable::get)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steppings() {
        // B0 boards read 0x10, C0 boards 0x20 in the low byte.
        assert_eq!(DmaMap::of_chip(0x2711_0010), DmaMap::Alias);
        assert_eq!(DmaMap::of_chip(0x2711_0020), DmaMap::Identity);
        assert_eq!(DmaMap::of_chip(0x2711_0021), DmaMap::Identity);
    }

    #[test]
    fn the_chip_decides_then_the_device_tree() {
        use DmaMap::{Alias, Identity};
        let (b1, c0) = (Some(0x2711_0011), Some(0x2711_0020));
        let (old, new) = (Some(0xC000_0000), Some(0));
        let candidates = DmaMap::candidates;
        for tree in [old, new, None] {
            assert_eq!(candidates(b1, tree), [Alias]);
            assert_eq!(candidates(c0, tree), [Identity]);
        }
        assert_eq!(candidates(None, old), [Alias]);
        assert_eq!(candidates(None, new), [Identity]);
        assert_eq!(candidates(None, Some(0x4000_0000)), [Identity]);
        assert_eq!(candidates(None, None), [Identity]);
    }

    #[test]
    fn addresses_and_their_limits() {
        let alias = DmaMap::Alias;
        assert_eq!(alias.bus_addr(0x0010_0000, 512), Some(0xC010_0000));
        assert_eq!(alias.bus_addr(0x3FFF_FE00, 512), Some(0xFFFF_FE00));
        assert_eq!(alias.bus_addr(0x3FFF_FE01, 512), None);
        assert_eq!(alias.bus_addr(0x4000_0000, 512), None);
        let identity = DmaMap::Identity;
        assert_eq!(identity.bus_addr(0x0010_0000, 512), Some(0x0010_0000));
        assert_eq!(identity.bus_addr(0xFBFF_FE00, 512), Some(0xFBFF_FE00));
        assert_eq!(identity.bus_addr(0xFC00_0000, 1), None);
        assert_eq!(identity.bus_addr(0x1_0000_0000, 512), None);
        assert_eq!(identity.bus_addr(usize::MAX, 512), None);
    }

    #[test]
    fn descriptors_of_one_and_of_many_pieces() {
        let mut table = Table::new();
        table.describe(0xC010_0000, 512);
        assert_eq!(table.descriptor(0), [0x0200_0023, 0xC010_0000]);
        table.describe(0x0100_0000, 65_536);
        assert_eq!(table.descriptor(0), [0x0000_0023, 0x0100_0000]);
        table.describe(0x0100_0000, 2 * 65_536 + 1024);
        assert_eq!(table.descriptor(0), [0x0000_0021, 0x0100_0000]);
        assert_eq!(table.descriptor(1), [0x0000_0021, 0x0101_0000]);
        assert_eq!(table.descriptor(2), [0x0400_0023, 0x0102_0000]);
        table.describe(0, MAX_BYTES);
        assert_eq!(table.descriptor(MAX_PIECES - 2)[0], 0x0000_0021);
        assert_eq!(table.descriptor(MAX_PIECES - 1), [0x0000_0023, 0x007F_0000]);
        assert!(align_of::<Table>() == ALIGNMENT && size_of::<Table>() == 8 * MAX_PIECES);
    }
}
