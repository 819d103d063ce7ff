//! Translation tables: ranges of addresses to descriptors. Pure, so that the host tests it.
//!
//! 36 bits in three levels of 4 KiB tables:
//!
//! ```text
//! address  35..30   29..21   20..12   11..0
//!          level 1  level 2  level 3  offset
//!          table    2 MiB    4 KiB
//!                   block    page
//! ```
//!
//! Whole, aligned 2 MiB pieces become blocks (the A72's TLB holds 1024 of them, so that a model of
//! 550 MB stays resident); the rest becomes pages. What was never mapped faults.
//!
//! **Resources**: Arm Architecture Reference Manual, D8.3 (descriptor formats).

use core::fmt;
use core::ops::Range;

use crate::registers::{ATTR_DEVICE, ATTR_NORMAL, VA_BITS};

/// Bytes of the smallest mapping.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of a level 2 mapping.
pub const BLOCK_BYTES: u64 = 2 << 20;

const ENTRIES: usize = 512;
const TABLE_OR_PAGE: u64 = 0b11;
const BLOCK: u64 = 0b01;
const VALID: u64 = 1;
const READ_ONLY: u64 = 1 << 7;
const INNER_SHAREABLE: u64 = 0b11 << 8;
const ACCESSED: u64 = 1 << 10;
const PXN: u64 = 1 << 53;
const UXN: u64 = 1 << 54;
const ADDR_MASK: u64 = 0x0000_FFFF_FFFF_F000;

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
    const fn attributes(self) -> u64 {
        let normal = ATTR_NORMAL << 2 | INNER_SHAREABLE | ACCESSED | UXN;
        match self {
            Memory::Code => normal | READ_ONLY,
            Memory::ReadOnly => normal | READ_ONLY | PXN,
            Memory::Data => normal | PXN,
            Memory::Device => ATTR_DEVICE << 2 | ACCESSED | UXN | PXN,
        }
    }
}

/// Why a range could not be mapped, unmapped or protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// Start or end is not a multiple of 4 KiB.
    Unaligned {
        /// The start or end in question.
        addr: u64,
    },
    /// The range is empty or ends above the 36 bits that the tables translate.
    OutOfRange {
        /// The end of the range.
        end: u64,
    },
    /// Something is already mapped there.
    Occupied {
        /// The first address that is taken.
        addr: u64,
    },
    /// Nothing is mapped there, or only as part of a larger block.
    NotMapped {
        /// The first address without a mapping of its own.
        addr: u64,
    },
    /// The pool of tables is used up.
    OutOfTables {
        /// Number of tables in the pool.
        tables: usize,
    },
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            MapError::Unaligned { addr } => {
                write!(f, "cannot map {addr:#x}: not a multiple of 4 KiB")
            }
            MapError::OutOfRange { end } => write!(
                f,
                "cannot map a range up to {end:#x}: empty, or above {VA_BITS} bits"
            ),
            MapError::Occupied { addr } => write!(f, "cannot map {addr:#x}: mapped already"),
            MapError::NotMapped { addr } => write!(
                f,
                "cannot change {addr:#x}: no page or block of its own is mapped there"
            ),
            MapError::OutOfTables { tables } => write!(
                f,
                "cannot map: all {tables} translation tables are used, raise their number in boot"
            ),
        }
    }
}

impl core::error::Error for MapError {}

/// One table of 512 descriptors.
#[repr(C, align(4096))]
pub struct Table([u64; ENTRIES]);

impl Table {
    /// A table that maps nothing.
    pub const EMPTY: Table = Table([0; ENTRIES]);
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

/// A map built in a pool of tables; the first one is the root.
pub struct PageTables<'a> {
    tables: &'a mut [Table],
    base_addr: u64,
    used: &'a mut usize,
}

impl<'a> PageTables<'a> {
    /// Tables in `tables`, the first of which lies at the physical address `base_addr`.
    ///
    /// `used` counts the tables in use and starts at 0; it outlives this value, so that a map can be
    /// continued later.
    ///
    /// # Panics
    /// If the pool is empty or `base_addr` is not a multiple of 4 KiB.
    pub fn new(tables: &'a mut [Table], base_addr: u64, used: &'a mut usize) -> Self {
        assert!(!tables.is_empty() && base_addr.is_multiple_of(PAGE_BYTES));
        *used = (*used).max(1);
        Self {
            tables,
            base_addr,
            used,
        }
    }

    /// Maps every address of `range` onto itself.
    ///
    /// # Errors
    /// See [`MapError`]; what was mapped before the failing address stays mapped.
    pub fn map(&mut self, range: Range<u64>, memory: Memory) -> Result<(), MapError> {
        let physical_addr = range.start;
        self.map_at(range, physical_addr, memory)
    }

    /// Maps the addresses of `range` onto as many from `physical_addr` on.
    ///
    /// # Errors
    /// As for [`PageTables::map`]; [`MapError::Unaligned`] also for `physical_addr`.
    pub fn map_at(
        &mut self,
        range: Range<u64>,
        physical_addr: u64,
        memory: Memory,
    ) -> Result<(), MapError> {
        check(&range)?;
        check(&(physical_addr..physical_addr.saturating_add(range.end - range.start)))?;
        let mut addr = range.start;
        while addr < range.end {
            let level2 = self.table_below(0, level1_index(addr), addr)?;
            let slot = level2_index(addr);
            let physical = physical_addr + (addr - range.start);
            let whole_block =
                (addr | physical).is_multiple_of(BLOCK_BYTES) && range.end - addr >= BLOCK_BYTES;
            if whole_block && self.tables[level2].0[slot] == 0 {
                self.tables[level2].0[slot] = physical | memory.attributes() | BLOCK;
                addr += BLOCK_BYTES;
                continue;
            }
            let level3 = self.table_below(level2, slot, addr)?;
            let page = &mut self.tables[level3].0[level3_index(addr)];
            if *page != 0 {
                return Err(MapError::Occupied { addr });
            }
            *page = physical | memory.attributes() | TABLE_OR_PAGE;
            addr += PAGE_BYTES;
        }
        Ok(())
    }

    /// Removes every page and block of `range`.
    ///
    /// # Errors
    /// [`MapError::NotMapped`] where a block is only partly inside the range, or nothing is mapped.
    pub fn unmap(&mut self, range: Range<u64>) -> Result<(), MapError> {
        self.each_leaf(range, |_| 0)
    }

    /// Changes what every page and block of `range` is used for. The memory type stays.
    ///
    /// # Errors
    /// As for [`PageTables::unmap`].
    ///
    /// # Panics
    /// If `memory` is [`Memory::Device`]: changing the type of live memory needs more than this.
    pub fn protect(&mut self, range: Range<u64>, memory: Memory) -> Result<(), MapError> {
        assert!(memory != Memory::Device);
        self.each_leaf(range, |leaf| {
            leaf & (ADDR_MASK | 0b11) | memory.attributes()
        })
    }

    /// What `addr` translates to, if anything.
    pub fn lookup(&self, addr: u64) -> Option<Mapping> {
        if addr >> VA_BITS != 0 {
            return None;
        }
        let level2 = self.next(self.tables[0].0[level1_index(addr)])?;
        let slot = self.tables[level2].0[level2_index(addr)];
        if slot & TABLE_OR_PAGE == BLOCK {
            return Some(mapping(slot, BLOCK_BYTES));
        }
        let page = self.tables[self.next(slot)?].0[level3_index(addr)];
        (page & VALID != 0).then(|| mapping(page, PAGE_BYTES))
    }

    /// Number of tables in use.
    pub fn tables_used(&self) -> usize {
        *self.used
    }

    fn each_leaf(
        &mut self,
        range: Range<u64>,
        change: impl Fn(u64) -> u64,
    ) -> Result<(), MapError> {
        check(&range)?;
        let mut addr = range.start;
        while addr < range.end {
            let missing = MapError::NotMapped { addr };
            let level2 = self
                .next(self.tables[0].0[level1_index(addr)])
                .ok_or(missing)?;
            let slot = &mut self.tables[level2].0[level2_index(addr)];
            if *slot & TABLE_OR_PAGE == BLOCK {
                if !addr.is_multiple_of(BLOCK_BYTES) || range.end - addr < BLOCK_BYTES {
                    return Err(missing);
                }
                *slot = change(*slot);
                addr += BLOCK_BYTES;
                continue;
            }
            let slot = *slot;
            let level3 = self.next(slot).ok_or(missing)?;
            let page = &mut self.tables[level3].0[level3_index(addr)];
            if *page & VALID == 0 {
                return Err(missing);
            }
            *page = change(*page);
            addr += PAGE_BYTES;
        }
        Ok(())
    }

    /// The table that entry `slot` of table `parent` points to, made if the entry is empty.
    fn table_below(&mut self, parent: usize, slot: usize, addr: u64) -> Result<usize, MapError> {
        let entry = self.tables[parent].0[slot];
        if entry == 0 {
            let new = *self.used;
            if new == self.tables.len() {
                return Err(MapError::OutOfTables { tables: new });
            }
            *self.used += 1;
            self.tables[new] = Table::EMPTY;
            self.tables[parent].0[slot] =
                (self.base_addr + new as u64 * PAGE_BYTES) | TABLE_OR_PAGE;
            return Ok(new);
        }
        self.next(entry).ok_or(MapError::Occupied { addr })
    }

    fn next(&self, entry: u64) -> Option<usize> {
        (entry & TABLE_OR_PAGE == TABLE_OR_PAGE)
            .then(|| (((entry & ADDR_MASK) - self.base_addr) / PAGE_BYTES) as usize)
    }
}

fn check(range: &Range<u64>) -> Result<(), MapError> {
    for addr in [range.start, range.end] {
        if !addr.is_multiple_of(PAGE_BYTES) {
            return Err(MapError::Unaligned { addr });
        }
    }
    if range.start >= range.end || range.end > 1 << VA_BITS {
        return Err(MapError::OutOfRange { end: range.end });
    }
    Ok(())
}

fn mapping(leaf: u64, bytes: u64) -> Mapping {
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

fn level1_index(addr: u64) -> usize {
    (addr >> 30) as usize % ENTRIES
}

fn level2_index(addr: u64) -> usize {
    (addr >> 21) as usize % ENTRIES
}

fn level3_index(addr: u64) -> usize {
    (addr >> 12) as usize % ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x10_0000;

    fn with_tables(pool: usize, test: impl FnOnce(&mut PageTables<'_>)) {
        let mut tables: Vec<Table> = (0..pool).map(|_| Table::EMPTY).collect();
        let mut used = 0;
        test(&mut PageTables::new(&mut tables, BASE, &mut used));
    }

    #[test]
    fn descriptors_have_the_bits_of_the_manual() {
        with_tables(4, |tables| {
            tables.map(0x8_0000..0x8_1000, Memory::Code).unwrap();
            tables.map(0x8_1000..0x8_2000, Memory::ReadOnly).unwrap();
            tables.map(0x8_2000..0x8_3000, Memory::Data).unwrap();
            tables.map(0x20_0000..0x40_0000, Memory::Device).unwrap();
            let level3 = &tables.tables[2].0;
            // UXN; AF, inner shareable, read-only, attribute 0, page
            assert_eq!(level3[0x80], 0x0040_0000_0008_0783);
            // the same with PXN
            assert_eq!(level3[0x81], 0x0060_0000_0008_1783);
            // writable
            assert_eq!(level3[0x82], 0x0060_0000_0008_2703);
            // UXN, PXN, AF, attribute 1, block
            assert_eq!(tables.tables[1].0[1], 0x0060_0000_0020_0405);
            // tables one behind the other
            assert_eq!(tables.tables[0].0[0], BASE + 0x1003);
            assert_eq!(tables.tables[1].0[0], BASE + 0x2003);
        });
    }

    #[test]
    fn nothing_is_writable_and_executable() {
        for memory in [Memory::Code, Memory::ReadOnly, Memory::Data, Memory::Device] {
            let bits = memory.attributes();
            let executable = bits & PXN == 0;
            assert!(!executable || bits & READ_ONLY != 0, "{memory:?}");
            assert_ne!(bits & UXN, 0, "{memory:?}");
        }
    }

    #[test]
    fn whole_pieces_become_blocks_and_edges_become_pages() {
        with_tables(8, |tables| {
            tables.map(0x1F_F000..0x40_1000, Memory::Data).unwrap();
            let bytes = |addr| tables.lookup(addr).map(|mapping| mapping.bytes);
            assert_eq!(bytes(0x1F_EFFF), None);
            assert_eq!(bytes(0x1F_F000), Some(PAGE_BYTES));
            assert_eq!(bytes(0x20_0000), Some(BLOCK_BYTES));
            assert_eq!(bytes(0x3F_FFFF), Some(BLOCK_BYTES));
            assert_eq!(bytes(0x40_0FFF), Some(PAGE_BYTES));
            assert_eq!(bytes(0x40_1000), None);
        });
    }

    #[test]
    fn eight_gigabytes_and_the_peripherals_fit_the_pool() {
        with_tables(crate::POOL_TABLES, |tables| {
            tables.map(0x1000..0x8_0000, Memory::Data).unwrap();
            tables.map(0x8_0000..0x3B40_0000, Memory::Data).unwrap();
            tables.map(0x4000_0000..0xFC00_0000, Memory::Data).unwrap();
            tables
                .map(0xFC00_0000..0x1_0000_0000, Memory::Device)
                .unwrap();
            tables
                .map(0x1_0000_0000..0x2_0000_0000, Memory::Data)
                .unwrap();
            tables
                .map_at(0x4_0000_0000..0x5_E000_0000, 0x2_0000_0000, Memory::Data)
                .unwrap();
            assert!(tables.tables_used() + 4 <= crate::POOL_TABLES);
            assert_eq!(tables.lookup(0x3B40_0000), None, "VideoCore memory");
            assert_eq!(
                tables.lookup(0xFE20_1000).map(|mapping| mapping.memory),
                Some(Memory::Device)
            );
            assert!(tables.lookup(0x1_FFFF_FFFF).is_some());
        });
    }

    #[test]
    fn addresses_may_differ_from_physical_ones() {
        with_tables(8, |tables| {
            let window = 0x4_0000_0000..0x4_0060_0000;
            tables
                .map_at(window, 0x1234_0000_u64 & !(BLOCK_BYTES - 1), Memory::Data)
                .unwrap();
            let found = tables.lookup(0x4_0020_0040).unwrap();
            assert_eq!(found.physical_addr, 0x1240_0000);
            assert_eq!(found.bytes, BLOCK_BYTES);
            // what is not aligned to blocks on both sides becomes pages
            tables
                .map_at(0x4_0080_0000..0x4_00A0_0000, 0x1000, Memory::Data)
                .unwrap();
            let found = tables.lookup(0x4_0080_1040).unwrap();
            assert_eq!((found.physical_addr, found.bytes), (0x2000, PAGE_BYTES));
            assert_eq!(
                tables.map_at(0x4_0100_0000..0x4_0100_1000, 0x10, Memory::Data),
                Err(MapError::Unaligned { addr: 0x10 })
            );
            assert!(
                tables
                    .map_at(0x4_0100_0000..0x4_0100_1000, 1 << VA_BITS, Memory::Data)
                    .is_err()
            );
        });
    }

    #[test]
    fn a_map_is_continued_later() {
        let mut tables: Vec<Table> = (0..8).map(|_| Table::EMPTY).collect();
        let mut used = 0;
        PageTables::new(&mut tables, BASE, &mut used)
            .map(0..0x1000, Memory::Data)
            .unwrap();
        let mut later = PageTables::new(&mut tables, BASE, &mut used);
        later.map(0x1000..0x2000, Memory::Code).unwrap();
        assert_eq!(later.tables_used(), 3);
        assert_eq!(later.lookup(0).unwrap().memory, Memory::Data);
    }

    #[test]
    fn permissions_change_only_where_a_leaf_is_whole() {
        with_tables(8, |tables| {
            tables.map(0x20_0000..0x80_0000, Memory::Data).unwrap();
            tables
                .protect(0x40_0000..0x60_0000, Memory::ReadOnly)
                .unwrap();
            let memory = |tables: &PageTables<'_>, addr| tables.lookup(addr).unwrap().memory;
            assert_eq!(memory(tables, 0x3F_FFFF), Memory::Data);
            assert_eq!(memory(tables, 0x40_0000), Memory::ReadOnly);
            assert_eq!(memory(tables, 0x60_0000), Memory::Data);
            assert_eq!(
                tables.protect(0x41_0000..0x60_0000, Memory::Data),
                Err(MapError::NotMapped { addr: 0x41_0000 })
            );
            tables.unmap(0x40_0000..0x60_0000).unwrap();
            assert_eq!(tables.lookup(0x40_0000), None);
        });
    }

    #[test]
    fn bad_ranges_are_refused() {
        with_tables(3, |tables| {
            let data = Memory::Data;
            assert_eq!(
                tables.map(0x10..0x1000, data),
                Err(MapError::Unaligned { addr: 0x10 })
            );
            let empty = 0x1000..0x1000;
            assert_eq!(
                tables.map(empty, data),
                Err(MapError::OutOfRange { end: 0x1000 })
            );
            let end = (1 << VA_BITS) + 0x1000;
            assert_eq!(tables.map(0..end, data), Err(MapError::OutOfRange { end }));
            tables.map(0..0x2000, data).unwrap();
            assert_eq!(
                tables.map(0x1000..0x3000, data),
                Err(MapError::Occupied { addr: 0x1000 })
            );
            tables.map(0x20_0000..0x40_0000, data).unwrap();
            assert_eq!(
                tables.map(0x20_1000..0x20_2000, data),
                Err(MapError::Occupied { addr: 0x20_1000 })
            );
            assert_eq!(
                tables.map(0x4000_0000..0x4000_1000, data),
                Err(MapError::OutOfTables { tables: 3 })
            );
            assert_eq!(
                tables.unmap(0x40_0000..0x60_0000),
                Err(MapError::NotMapped { addr: 0x40_0000 })
            );
        });
    }
}
