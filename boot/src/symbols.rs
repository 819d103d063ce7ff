//! Names for addresses of the image's code, from a table that the build leaves in its constants.
//!
//! ```text
//! pairs      256 × 2 bytes: what a byte of a name stands for, two bytes that stand for others in turn; itself if the
//!            first is 0
//! functions  number, 2 bytes
//! function   words of 4 bytes from the start of the one before (LEB128), bytes of the name, name
//! ```
//!
//! Numbers are little-endian. The first function counts from the image's start, and the lowest comes first.

use core::fmt;

/// Bytes of the table of pairs.
const PAIRS_BYTES: usize = 512;

/// Pairs in pairs that are followed at most: a damaged table may be a circle.
const MAX_DEPTH: usize = 16;

/// A table of names.
#[derive(Clone, Copy, Debug)]
pub struct Symbols<'t> {
    pairs: &'t [u8],
    functions: &'t [u8],
}

impl<'t> Symbols<'t> {
    /// The names in `table`; zeros are an empty one.
    pub fn new(table: &'t [u8]) -> Self {
        let (pairs, functions) = table.split_at_checked(PAIRS_BYTES).unwrap_or_default();
        Symbols { pairs, functions }
    }

    /// The function with the highest start that is not above `offset` bytes after the image's start.
    pub fn nearest(self, offset: u64) -> Option<Place<'t>> {
        let (n, mut rest) = self.functions.split_first_chunk()?;
        let mut start = 0;
        let mut nearest = None;
        for _ in 0..u16::from_le_bytes(*n) {
            let (words, tail) = leb128(rest)?;
            let (&name_bytes, tail) = tail.split_first()?;
            let (bytes, tail) = tail.split_at_checked(name_bytes.into())?;
            rest = tail;
            start += 4 * words;
            if start > offset {
                break;
            }
            let name = Name {
                pairs: self.pairs,
                bytes,
            };
            nearest = Some(Place {
                name,
                offset: offset - start,
            });
        }
        nearest
    }
}

/// A number in groups of 7 bits, lowest first; the last group has no top bit. And what follows it.
fn leb128(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (i, &byte) in bytes.iter().enumerate().take(5) {
        number |= u64::from(byte & 0x7F) << (7 * i);
        if byte < 0x80 {
            return Some((number, &bytes[i + 1..]));
        }
    }
    None
}

/// A place in the code: `name+0x1c`.
#[derive(Clone, Copy, Debug)]
pub struct Place<'t> {
    name: Name<'t>,
    /// Bytes after the start of the function.
    pub offset: u64,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.name, self.offset)
    }
}

#[derive(Clone, Copy, Debug)]
struct Name<'t> {
    pairs: &'t [u8],
    bytes: &'t [u8],
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes
            .iter()
            .try_for_each(|&byte| write_byte(f, self.pairs, byte, MAX_DEPTH))
    }
}

fn write_byte(f: &mut fmt::Formatter<'_>, pairs: &[u8], byte: u8, depth: usize) -> fmt::Result {
    use fmt::Write;
    match pairs[2 * usize::from(byte)..][..2] {
        [first, second] if first != 0 && depth > 0 => {
            write_byte(f, pairs, first, depth - 1)?;
            write_byte(f, pairs, second, depth - 1)
        }
        _ => f.write_char(char::from(byte)),
    }
}

#[cfg(target_os = "none")]
pub use target::place_of;

#[cfg(target_os = "none")]
mod target {
    use super::{Place, Symbols};
    use crate::layout;

    /// The place of an address of the image's code.
    pub fn place_of(addr: u64) -> Option<Place<'static>> {
        let text = layout::image().text;
        if !text.contains(&addr) {
            return None;
        }
        Symbols::new(layout::symbols()).nearest(addr - text.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ab` at 8 and `abc` at 0x410; the byte 1 stands for `ab`.
    fn table() -> Vec<u8> {
        let mut table = vec![0; PAIRS_BYTES];
        table[2..4].copy_from_slice(b"ab");
        table.extend([2, 0]);
        table.extend([2, 1, 1]);
        table.extend([0x82, 0x02, 2, 1, b'c']);
        table
    }

    fn told(table: &[u8], offset: u64) -> Option<String> {
        Some(Symbols::new(table).nearest(offset)?.to_string())
    }

    #[test]
    fn the_nearest_function_below_is_named() {
        let table = table();
        let named = [(8, "ab+0x0"), (0x40c, "ab+0x404"), (0x410, "abc+0x0")];
        for (offset, name) in named {
            assert_eq!(told(&table, offset).as_deref(), Some(name));
        }
        assert_eq!(told(&table, 4), None, "before the first");
    }

    #[test]
    fn empty_cut_and_damaged_tables_name_nothing_or_end() {
        assert_eq!(told(&[0; 1024], 8), None);
        assert_eq!(told(&[], 8), None);
        let table = table();
        for len in 0..table.len() {
            let _ = told(&table[..len], 0x410);
        }
        let mut circle = table.clone();
        circle[2..4].copy_from_slice(&[1, 0]);
        assert!(told(&circle, 8).is_some_and(|name| name.len() < 64));
    }
}
