//! Directory entries: 32 bytes each, long names in the entries before.
//!
//! Pure: [`Scanner`] is fed one entry after the other. A long name counts only when its parts are
//! complete, in order and belong to the short entry that follows (checksum); otherwise the short
//! name stands, as every FAT driver does it. Layout: `fatgen103`, pages 22–31.

use alloc::string::String;

use crate::device::{u16_at, u32_at};

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 32;

/// UTF-16 units in one long-name entry, and entries in the longest name.
const UNITS: usize = 13;
const MAX_PARTS: usize = 20;

const ATTR_VOLUME: u8 = 0x08;
const ATTR_DIRECTORY: u8 = 0x10;
const ATTR_LONG_NAME: u8 = 0x0F;

/// A file or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The long name, or the short one where there is no long one.
    pub name: String,
    /// The 8.3 name.
    pub short_name: String,
    /// A directory.
    pub is_directory: bool,
    /// 0 for an empty file; unchecked.
    pub first_cluster: u32,
    /// Bytes.
    pub len_bytes: u32,
}

impl DirectoryEntry {
    /// Compares with either name as people do: upper and lower case are the same.
    pub fn is_called(&self, name: &str) -> bool {
        eq_ignore_case(&self.name, name) || eq_ignore_case(&self.short_name, name)
    }
}

/// Equality without regard to case, for any script.
pub fn eq_ignore_case(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || lower_case(a) == lower_case(b)
}

/// A name as it is compared.
pub(crate) fn lower_case(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// What an entry was.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Deleted, a volume label, or a part of a long name.
    Nothing,
    /// No entry follows.
    End,
    /// A file or a directory.
    Entry(DirectoryEntry),
}

/// Parts of a long name, collected until their short entry comes.
#[derive(Clone, Debug)]
pub struct Scanner {
    units: [u16; UNITS * MAX_PARTS],
    /// Units in use.
    len: usize,
    /// Parts still to come, when a name has begun.
    missing: Option<usize>,
    checksum: u8,
}

impl Default for Scanner {
    fn default() -> Self {
        Self {
            units: [0; UNITS * MAX_PARTS],
            len: 0,
            missing: None,
            checksum: 0,
        }
    }
}

impl Scanner {
    /// Takes the next entry of the directory. `wide`: first clusters have 32 bits (FAT32).
    pub fn push(&mut self, entry: &[u8; ENTRY_BYTES], wide: bool) -> Step {
        let attributes = entry[11];
        match entry[0] {
            0x00 => return Step::End,
            0xE5 => {
                self.missing = None;
                return Step::Nothing;
            }
            _ => {}
        }
        if attributes & 0x3F == ATTR_LONG_NAME {
            self.push_part(entry);
            return Step::Nothing;
        }
        let long_name = self.take_name(entry);
        if attributes & ATTR_VOLUME != 0 {
            return Step::Nothing;
        }
        let short_name = short_name(entry);
        if short_name.is_empty() {
            // Eleven spaces: nothing that could be opened by name.
            return Step::Nothing;
        }
        let high = if wide { u16_at(entry, 20) } else { 0 };
        Step::Entry(DirectoryEntry {
            name: long_name.unwrap_or_else(|| short_name.clone()),
            short_name,
            is_directory: attributes & ATTR_DIRECTORY != 0,
            first_cluster: u32::from(high) << 16 | u32::from(u16_at(entry, 26)),
            len_bytes: u32_at(entry, 28),
        })
    }

    /// The last part comes first and says how many there are.
    fn push_part(&mut self, entry: &[u8; ENTRY_BYTES]) {
        let number = usize::from(entry[0] & 0x3F);
        let is_last = entry[0] & 0x40 != 0;
        let expected = match (is_last, self.missing) {
            (true, _) if (1..=MAX_PARTS).contains(&number) => {
                self.len = number * UNITS;
                self.checksum = entry[13];
                number
            }
            (false, Some(missing)) if missing > 0 && entry[13] == self.checksum => missing,
            _ => 0,
        };
        if number == 0 || number != expected {
            self.missing = None;
            return;
        }
        let offsets = (1..11)
            .step_by(2)
            .chain((14..26).step_by(2))
            .chain([28, 30]);
        let part = &mut self.units[(number - 1) * UNITS..][..UNITS];
        for (unit, offset) in part.iter_mut().zip(offsets) {
            *unit = u16_at(entry, offset);
        }
        self.missing = Some(number - 1);
    }

    /// The name, if it is complete and belongs to this short entry.
    fn take_name(&mut self, entry: &[u8; ENTRY_BYTES]) -> Option<String> {
        let complete = self.missing.take() == Some(0);
        if !complete || checksum(entry) != self.checksum {
            return None;
        }
        let units = &self.units[..self.len];
        let end = units.iter().position(|&u| u == 0).unwrap_or(units.len());
        let name = char::decode_utf16(units[..end].iter().copied())
            .map(|c| printable(c.unwrap_or(char::REPLACEMENT_CHARACTER)))
            .collect::<String>();
        (!name.is_empty()).then_some(name)
    }
}

/// Checksum of the 11 bytes of a short name.
fn checksum(entry: &[u8; ENTRY_BYTES]) -> u8 {
    entry[..11]
        .iter()
        .fold(0u8, |sum, &b| sum.rotate_right(1).wrapping_add(b))
}

/// Names go to a terminal: no character of theirs may steer it.
fn printable(c: char) -> char {
    if c.is_control() {
        char::REPLACEMENT_CHARACTER
    } else {
        c
    }
}

/// `NAME    EXT` with Windows NT's two lower-case flags as `name.ext`.
fn short_name(entry: &[u8; ENTRY_BYTES]) -> String {
    let flags = entry[12];
    let part = |bytes: &[u8], lower: bool| -> String {
        let len = bytes.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1);
        let chars = bytes[..len].iter().enumerate().map(|(i, &b)| match b {
            // 0xE5 marks deleted entries, so a name that begins with it is written with 0x05.
            0x05 if i == 0 => char::REPLACEMENT_CHARACTER,
            // The code page is not recorded.
            0x80.. => char::REPLACEMENT_CHARACTER,
            _ if lower => printable(b.to_ascii_lowercase().into()),
            _ => printable(b.into()),
        });
        chars.collect()
    };
    let mut name = part(&entry[..8], flags & 0x08 != 0);
    let extension = part(&entry[8..11], flags & 0x10 != 0);
    if !extension.is_empty() {
        name.push('.');
        name.push_str(&extension);
    }
    name
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
