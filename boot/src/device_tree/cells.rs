//! Numbers in a tree: big-endian, in 32-bit cells.

use core::ops::Range;

use super::Error;

/// Number of 32-bit cells of an address and of a size below some node.
#[derive(Clone, Copy)]
pub(super) struct Cells {
    pub(super) address: usize,
    pub(super) size: usize,
}

/// A cell count; the specification allows 1 to 4, this reader uses 1 and 2.
pub(super) fn cell(value: &[u8]) -> usize {
    word(value, 0).map_or(1, |cells| cells.clamp(1, 2) as usize)
}

pub(super) fn each_reg(value: &[u8], cells: Cells, mut each: impl FnMut(Range<u64>)) {
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0_u64, |n, &byte| n << 8 | u64::from(byte))
    };
    for entry in value.chunks_exact(4 * (cells.address + cells.size)) {
        let (address, size) = entry.split_at(4 * cells.address);
        let start = number(address);
        each(start..start.saturating_add(number(size)));
    }
}

pub(super) fn word(bytes: &[u8], offset: usize) -> Result<u32, Error> {
    let rest = bytes.get(offset..).and_then(|rest| rest.first_chunk());
    rest.map(|bytes| u32::from_be_bytes(*bytes))
        .ok_or(Error::Truncated { offset })
}

pub(super) fn double_word(bytes: &[u8], offset: usize) -> Result<u64, Error> {
    let high = word(bytes, offset)?;
    let low = word(bytes, offset + 4)?;
    Ok(u64::from(high) << 32 | u64::from(low))
}
