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

mod descriptor;

use core::ops::Range;

use self::descriptor::{ADDR_MASK, BLOCK, TABLE_OR_PAGE, VALID, mapping};
pub use self::descriptor::{Mapping, Memory};
use crate::registers::VA_BITS;

/// Bytes of the smallest mapping.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of a level 2 mapping.
pub const BLOCK_BYTES: u64 = 2 << 20;

const ENTRIES: usize = 512;
/// Why a range could not be mapped, unmapped or protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Start or end is not a multiple of 4 KiB.
    #[error("cannot map {addr:#x}: not a multiple of 4 KiB")]
    Unaligned {
        /// The start or end in question.
        addr: u64,
    },
    /// The range is empty or ends above the 36 bits that the tables translate.
    #[error("cannot map a range up to {end:#x}: empty, or above {VA_BITS} bits")]
    OutOfRange {
        /// The end of the range.
        end: u64,
    },
    /// Something is already mapped there.
    #[error("cannot map {addr:#x}: mapped already")]
    Occupied {
        /// The first address that is taken.
        addr: u64,
    },
    /// Nothing is mapped there, or only as part of a larger block.
    #[error("cannot change {addr:#x}: no page or block of its own is mapped there")]
    NotMapped {
        /// The first address without a mapping of its own.
        addr: u64,
    },
    /// The pool of tables is used up.
    #[error("cannot map: all {tables} translation tables are used, raise their number in boot")]
    OutOfTables {
        /// Number of tables in the pool.
        tables: usize,
    },
}

/// One table of 512 descriptors.
#[repr(C, align(4096))]
pub struct Table([u64; ENTRIES]);

impl Table {
    /// A table that maps nothing.
    pub const EMPTY: Table = Table([0; ENTRIES]);
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
            let entry = self.entry(level2, slot)?;
            if whole_block && *entry == 0 {
                *entry = physical | memory.attributes() | BLOCK;
                addr += BLOCK_BYTES;
                continue;
            }
            let level3 = self.table_below(level2, slot, addr)?;
            let page = self.entry(level3, level3_index(addr))?;
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
        let entry = *self.entry(parent, slot)?;
        if entry == 0 {
            let new = *self.used;
            *self.table(new)? = Table::EMPTY;
            *self.used += 1;
            *self.entry(parent, slot)? = (self.base_addr + new as u64 * PAGE_BYTES) | TABLE_OR_PAGE;
            return Ok(new);
        }
        self.next(entry).ok_or(MapError::Occupied { addr })
    }

    /// Table `index` of the pool. No panic where there is none: `map_at` runs before the MMU is on, where the atomics
    /// of a panic are an abort (`cargo xtask audit` follows what can run there).
    fn table(&mut self, index: usize) -> Result<&mut Table, MapError> {
        let tables = self.tables.len();
        self.tables
            .get_mut(index)
            .ok_or(MapError::OutOfTables { tables })
    }

    fn entry(&mut self, table: usize, slot: usize) -> Result<&mut u64, MapError> {
        Ok(&mut self.table(table)?.0[slot % ENTRIES])
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
mod tests;
