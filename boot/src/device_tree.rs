//! The firmware's device tree, as far as memory is concerned. Pure; trusts nothing.
//!
//! **Resources**: Devicetree Specification 0.4, chapter 5 (flattened format); docs/hardware.md BOOT-8.

mod cells;

use self::cells::{Cells, cell, double_word, each_reg, word};
use crate::ram::{self, Ranges};

/// First word of every flattened tree.
pub const MAGIC: u32 = 0xD00D_FEED;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 40;
/// A Pi's tree has some 50 KB; more than this is no tree.
pub const MAX_BYTES: usize = 2 << 20;

const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const END: u32 = 9;

/// Why a tree could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No tree can be there.
    #[error("no device tree: none can be there")]
    BadAddress,
    /// The first word is not the magic number.
    #[error("no device tree: it starts with {found:#010x}")]
    NoMagic {
        /// What it is.
        found: u32,
    },
    /// The header's sizes cannot be right.
    #[error("device tree ignored: impossible sizes in its header")]
    BadHeader,
    /// The tree ends, or points outside itself, at this offset.
    #[error("device tree ignored: cut off at byte {offset}")]
    Truncated {
        /// Bytes from the start of the tree.
        offset: usize,
    },
    /// An unknown token.
    #[error("device tree ignored: unknown token {token:#x} at byte {offset}")]
    BadToken {
        /// The token.
        token: u32,
        /// Bytes from the start of the tree.
        offset: usize,
    },
}

/// What a tree says about memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryNodes {
    /// RAM: all cells of all `/memory` nodes.
    pub ram: Ranges,
    /// In use by the firmware: `/memreserve/` and `/reserved-memory`.
    pub reserved: Ranges,
    /// Where the SD controller sees the start of RAM (`/emmc2bus`, `dma-ranges`): 0xC000_0000 on
    /// the B0 stepping, 0 on C0.
    pub emmc2_dma_base: Option<u64>,
    /// RAM on the board in Gbit (`/chosen`, `rpi-sdram-size-gbit`): for sizes without a code of their own.
    pub sdram_gbit: Option<u32>,
}

impl MemoryNodes {
    /// Bytes of RAM on the board as the tree says; what a board can have if it says nothing, and then
    /// `ram` is the only limit.
    pub fn total_bytes(&self) -> u64 {
        let named = self.sdram_gbit.map(|gbit| u64::from(gbit) << 27);
        named.unwrap_or(ram::MAX_TOTAL)
    }
}

/// The length of the tree whose header is `header`.
///
/// # Errors
/// [`Error::NoMagic`] or [`Error::BadHeader`].
pub fn total_bytes(header: &[u8; HEADER_BYTES]) -> Result<usize, Error> {
    let found = word(header, 0)?;
    if found != MAGIC {
        return Err(Error::NoMagic { found });
    }
    let total = word(header, 4)? as usize;
    if (HEADER_BYTES..=MAX_BYTES).contains(&total) {
        Ok(total)
    } else {
        Err(Error::BadHeader)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    Memory,
    ReservedMemory,
    Emmc2Bus,
    Chosen,
    Other,
}

/// Reads the memory nodes of the tree at the start of `tree`.
///
/// # Errors
/// See [`Error`].
pub fn memory_nodes(tree: &[u8]) -> Result<MemoryNodes, Error> {
    let header = tree.first_chunk().ok_or(Error::BadHeader)?;
    let total = total_bytes(header)?;
    let tree = tree
        .get(..total)
        .ok_or(Error::Truncated { offset: total })?;
    let structure = word(tree, 8)? as usize;
    let strings = word(tree, 12)? as usize;
    let reservations = word(tree, 16)? as usize;

    let mut found = MemoryNodes {
        ram: Ranges::EMPTY,
        reserved: Ranges::EMPTY,
        emmc2_dma_base: None,
        sdram_gbit: None,
    };
    read_reservations(tree, reservations, &mut found.reserved)?;
    Walk {
        tree,
        strings,
        offset: structure,
        root_cells: Cells {
            address: 2,
            size: 1,
        },
        reserved_cells: Cells {
            address: 2,
            size: 1,
        },
        found: &mut found,
    }
    .run()?;
    Ok(found)
}

fn read_reservations(tree: &[u8], mut offset: usize, into: &mut Ranges) -> Result<(), Error> {
    loop {
        let start = double_word(tree, offset)?;
        let size = double_word(tree, offset + 8)?;
        if size == 0 {
            return Ok(());
        }
        into.cover(start..start.saturating_add(size));
        offset += 16;
    }
}

struct Walk<'t, 'f> {
    tree: &'t [u8],
    strings: usize,
    offset: usize,
    root_cells: Cells,
    reserved_cells: Cells,
    found: &'f mut MemoryNodes,
}

impl<'t> Walk<'t, '_> {
    fn run(mut self) -> Result<(), Error> {
        let mut depth = 0_usize;
        let mut top = Node::Other;
        // of the child of /reserved-memory that is being read
        let mut child = Ranges::EMPTY;
        loop {
            let at = self.offset;
            let token = self.next_word()?;
            match token {
                BEGIN_NODE => {
                    let name = self.string(self.offset)?;
                    self.skip(name.len() + 1)?;
                    depth += 1;
                    if depth == 2 {
                        top = classify(name);
                    }
                    child = Ranges::EMPTY;
                }
                END_NODE => {
                    if depth == 3 && top == Node::ReservedMemory {
                        let reserved = &mut self.found.reserved;
                        child.iter().for_each(|range| reserved.cover(range));
                    }
                    depth = depth
                        .checked_sub(1)
                        .ok_or(Error::BadToken { token, offset: at })?;
                }
                PROPERTY => {
                    let (name, value) = self.property()?;
                    match (depth, top, name) {
                        (1, _, b"#address-cells") => self.root_cells.address = cell(value),
                        (1, _, b"#size-cells") => self.root_cells.size = cell(value),
                        (2, Node::ReservedMemory, b"#address-cells") => {
                            self.reserved_cells.address = cell(value);
                        }
                        (2, Node::ReservedMemory, b"#size-cells") => {
                            self.reserved_cells.size = cell(value);
                        }
                        (2, Node::Memory, b"reg") => {
                            each_reg(value, self.root_cells, |range| self.found.ram.add(range));
                        }
                        (2, Node::Emmc2Bus, b"dma-ranges") => {
                            self.found.emmc2_dma_base = double_word(value, 0).ok();
                        }
                        (2, Node::Chosen, b"rpi-sdram-size-gbit") => {
                            self.found.sdram_gbit = word(value, 0).ok();
                        }
                        (3, Node::ReservedMemory, b"reg") => {
                            each_reg(value, self.reserved_cells, |range| child.cover(range));
                        }
                        _ => {}
                    }
                }
                NOP => {}
                END => return Ok(()),
                _ => return Err(Error::BadToken { token, offset: at }),
            }
        }
    }

    fn next_word(&mut self) -> Result<u32, Error> {
        let value = word(self.tree, self.offset)?;
        self.offset += 4;
        Ok(value)
    }

    fn property(&mut self) -> Result<(&'t [u8], &'t [u8]), Error> {
        let len = self.next_word()? as usize;
        let name_offset = self.next_word()? as usize;
        let name = self.string(self.strings.saturating_add(name_offset))?;
        let start = self.offset;
        self.skip(len)?;
        let value = self.tree.get(start..start + len);
        Ok((name, value.ok_or(Error::Truncated { offset: start })?))
    }

    /// Goes on behind `len` bytes, at a multiple of 4.
    fn skip(&mut self, len: usize) -> Result<(), Error> {
        let truncated = Error::Truncated {
            offset: self.offset,
        };
        let end = self.offset.checked_add(len).ok_or(truncated)?;
        if end > self.tree.len() {
            return Err(truncated);
        }
        self.offset = end.next_multiple_of(4);
        Ok(())
    }

    fn string(&self, offset: usize) -> Result<&'t [u8], Error> {
        let truncated = Error::Truncated { offset };
        let rest = self.tree.get(offset..).ok_or(truncated)?;
        let len = rest.iter().position(|&byte| byte == 0).ok_or(truncated)?;
        Ok(&rest[..len])
    }
}

fn classify(name: &[u8]) -> Node {
    let base = name.split(|&byte| byte == b'@').next();
    match base {
        Some(b"memory") => Node::Memory,
        Some(b"reserved-memory") => Node::ReservedMemory,
        Some(b"emmc2bus") => Node::Emmc2Bus,
        Some(b"chosen") => Node::Chosen,
        _ => Node::Other,
    }
}

#[cfg(test)]
mod tests;
