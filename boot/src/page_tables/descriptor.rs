//! One descriptor: what memory is used for, in bits.
//!
//! **Resources**: Arm Architecture Reference Manual, D8.3 (descriptor formats).

use crate::registers::{ATTR_DEVICE, ATTR_NORMAL};

pub(super) const TABLE_OR_PAGE: u64 = 0b11;
pub(super) const BLOCK: u64 = 0b01;
pub(super) const VALID: u64 = 1;
pub(super) const READ_ONLY: u64 = 1 << 7;
pub(super) const INNER_SHAREABLE: u64 = 0b11 << 8;
pub(super) const ACCESSED: u64 = 1 << 10;
pub(super) const PXN: u64 = 1 << 53;
pub(super) const UXN: u64 = 1 << 54;
pub(super) const ADDR_MASK: u64 = 0x0000_FFFF_FFFF_F000;

/// What a range of addresses is used for; nothing is both writable and executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Instructions: read and execute.
    Code,
    /// Constants: read.
    ReadOnly,
    /// RAM: read and write.
    Data,
    /// Peripherals: read and write, in order, never speculated, never executed.
    Device,
}

impl Memory {
    pub(super) const fn attributes(self) -> u64 {
        let normal = ATTR_NORMAL << 2 | INNER_SHAREABLE | ACCESSED | UXN;
        match self {
            Memory::Code => normal | READ_ONLY,
            Memory::ReadOnly => normal | READ_ONLY | PXN,
            Memory::Data => normal | PXN,
            Memory::Device => ATTR_DEVICE << 2 | ACCESSED | UXN | PXN,
        }
    }
}

/// What an address translates to: for tests and for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// What the memory is used for.
    pub memory: Memory,
    /// Bytes of the page or block: 4 KiB or 2 MiB.
    pub bytes: u64,
    /// The physical address of the page or block.
    pub physical_addr: u64,
}

/// What a page or block of `bytes` bytes with descriptor `leaf` is.
pub(super) fn mapping(leaf: u64, bytes: u64) -> Mapping {
    let memory = if leaf >> 2 & 0b111 == ATTR_DEVICE {
        Memory::Device
    } else if leaf & PXN == 0 {
        Memory::Code
    } else if leaf & READ_ONLY != 0 {
        Memory::ReadOnly
    } else {
        Memory::Data
    };
    Mapping {
        memory,
        bytes,
        physical_addr: leaf & ADDR_MASK,
    }
}
