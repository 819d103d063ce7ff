//! A model file whose checksum is taken while it is read.
//!
//! A loader reads header and tensors in the order that suits it. Each read's CRC-32C, taken here or by
//! the loader on a core that is idle, is kept with its place; at the end the gaps are read, and the
//! checksums of all pieces are joined into the file's. So the file crosses the card's bus once.

use alloc::vec::Vec;
use core::ops::Range;

use ops::crc32c::{Crc32c, join};

use crate::source::ModelSource;

/// Bytes read at once to fill a gap.
const GAP_BYTES: usize = 64 << 10;

/// A piece of the file that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    start: u64,
    end: u64,
    crc: u32,
}

/// A source that takes the checksum of what is read from it.
pub struct Checked<S> {
    source: S,
    /// In order, apart from each other.
    pieces: Vec<Piece>,
}

impl<S: ModelSource> Checked<S> {
    /// Watches `source`.
    pub fn new(source: S) -> Self {
        Self {
            source,
            pieces: Vec::new(),
        }
    }

    /// What is watched.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Bytes of the file that have not been read yet.
    pub fn unread_bytes(&self) -> u64 {
        let read: u64 = self.pieces.iter().map(|p| p.end - p.start).sum();
        self.source.len_bytes() - read
    }

    /// Reads what is missing; the CRC-32C of the whole file.
    ///
    /// # Errors
    /// The source's.
    pub fn crc32c(&mut self) -> Result<u32, S::Error> {
        let mut buf = Vec::new();
        loop {
            let gap = self.gap(0);
            if gap.is_empty() {
                let whole = self.pieces.first();
                return Ok(whole.map_or(Crc32c::new().value(), |piece| piece.crc));
            }
            let n = (gap.end - gap.start).min(GAP_BYTES as u64) as usize;
            buf.resize(n.max(buf.len()), 0);
            self.read_at(gap.start, &mut buf[..n])?;
        }
    }

    /// The first stretch from `from` on that was not read.
    fn gap(&self, from: u64) -> Range<u64> {
        let mut next = self.pieces.partition_point(|p| p.end <= from);
        let mut start = from;
        if let Some(piece) = self.pieces.get(next).filter(|p| p.start <= from) {
            start = piece.end;
            next += 1;
        }
        let end = self.pieces.get(next).map(|p| p.start);
        start..end.unwrap_or(self.source.len_bytes())
    }
}

impl<S: ModelSource> ModelSource for Checked<S> {
    type Error = S::Error;

    fn len_bytes(&self) -> u64 {
        self.source.len_bytes()
    }

    /// Of what was read before, the first time counts.
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), S::Error> {
        self.source.read_at(offset, buf)?;
        let mut rest = self.gap(offset);
        while rest.start < offset + buf.len() as u64 {
            let unread = &buf[(rest.start - offset) as usize..];
            let unread = &unread[..unread.len().min((rest.end - rest.start) as usize)];
            let mut crc = Crc32c::new();
            crc.update(unread);
            self.note_checksum(rest.start, unread.len() as u64, crc.value());
            rest = self.gap(rest.start);
        }
        Ok(())
    }

    fn unchecked_from(&self, offset: u64) -> Option<u64> {
        Some(self.gap(offset).start)
    }

    fn read_unchecked(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), S::Error> {
        self.source.read_at(offset, buf)
    }

    /// A piece of which a part is known already is not taken: what else is in it stays a gap.
    fn note_checksum(&mut self, offset: u64, len_bytes: u64, crc32c: u32) {
        let end = offset + len_bytes;
        let next = self.pieces.partition_point(|p| p.end <= offset);
        let is_apart = self.pieces.get(next).is_none_or(|p| end <= p.start);
        if len_bytes == 0 || !is_apart {
            return;
        }
        let piece = Piece {
            start: offset,
            end,
            crc: crc32c,
        };
        self.pieces.insert(next, piece);
        // Neighbors that touch become one.
        self.pieces.dedup_by(|b, a| {
            let touches = a.end == b.start;
            if touches {
                a.crc = join(a.crc, b.crc, b.end - b.start);
                a.end = b.end;
            }
            touches
        });
    }
}

/// The checksum in a `.crc32c` file: eight hexadecimal digits, then a blank and the name, or nothing.
pub fn parse_checksum(file: &[u8]) -> Option<u32> {
    let (digits, rest) = file.split_at_checked(8)?;
    if !digits.iter().all(u8::is_ascii_hexdigit)
        || rest.first().is_some_and(|b| b.is_ascii_alphanumeric())
    {
        return None;
    }
    u32::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        (0..200_000u32)
            .map(|i| (i.wrapping_mul(i) >> 7) as u8)
            .collect()
    }

    fn crc32c(bytes: &[u8]) -> u32 {
        let mut crc = Crc32c::new();
        crc.update(bytes);
        crc.value()
    }

    /// Reads these ranges in this order; the checksum and how much was left for the end.
    fn read(ranges: &[Range<usize>]) -> (u32, u64) {
        let file = file();
        let mut checked = Checked::new(file.as_slice());
        assert_eq!(checked.len_bytes(), file.len() as u64);
        for range in ranges {
            let mut buf = alloc::vec![0; range.len()];
            checked.read_at(range.start as u64, &mut buf).unwrap();
            assert_eq!(buf, file[range.clone()]);
        }
        let unread = checked.unread_bytes();
        (checked.crc32c().unwrap(), unread)
    }

    #[test]
    fn any_order_gives_the_files_checksum() {
        let whole = crc32c(&file());
        assert_eq!(read(&[]), (whole, 200_000));
        assert_eq!(read(&[0..200_000]), (whole, 0));
        assert_eq!(read(&[0..10, 10..20, 20..200_000]), (whole, 0));
        assert_eq!(read(&[100_000..200_000, 0..100_000]), (whole, 0));
        assert_eq!(read(&[5..10, 100..200, 199_000..199_999]), (whole, 198_896));
    }

    #[test]
    fn what_is_read_twice_counts_once() {
        let whole = crc32c(&file());
        assert_eq!(read(&[0..100, 50..150, 0..200_000]), (whole, 0));
        assert_eq!(read(&[10..20, 30..40, 0..50, 35..60]), (whole, 199_940));
        assert_eq!(read(&[0..100, 0..100, 20..30]), (whole, 199_900));
    }

    #[test]
    fn checksums_taken_elsewhere_count() {
        let file = file();
        let whole = crc32c(&file);
        let mut checked = Checked::new(file.as_slice());
        let mut buf = [0; 1000];
        checked.read_at(0, &mut buf).unwrap();
        assert_eq!(checked.unchecked_from(0), Some(1000));
        assert_eq!(checked.unchecked_from(1000), Some(1000));
        for range in [150_000..200_000, 1000..1000, 1000..150_000] {
            let mut buf = alloc::vec![0; range.len()];
            checked
                .read_unchecked(range.start as u64, &mut buf)
                .unwrap();
            assert_eq!(buf, file[range.clone()]);
            let (start, len) = (range.start as u64, range.len() as u64);
            checked.note_checksum(start, len, crc32c(&buf));
            // Once more, and with what is known at either end: of no consequence.
            checked.note_checksum(start, len, 1);
            checked.note_checksum(start.saturating_sub(1), 2, 2);
        }
        assert_eq!(checked.unread_bytes(), 0);
        assert_eq!(checked.crc32c(), Ok(whole));
    }

    #[test]
    fn what_is_read_and_not_handed_in_is_read_again() {
        let file = file();
        let mut checked = Checked::new(file.as_slice());
        let mut buf = alloc::vec![0; 200_000];
        checked.read_unchecked(0, &mut buf).unwrap();
        checked.note_checksum(70_000, 10, crc32c(&buf[70_000..70_010]));
        assert_eq!(checked.unread_bytes(), 199_990);
        assert_eq!(checked.crc32c(), Ok(crc32c(&file)));
    }

    #[test]
    fn a_changed_byte_changes_the_checksum() {
        let mut bytes = file();
        bytes[150_000] ^= 1;
        let found = Checked::new(bytes.as_slice()).crc32c().unwrap();
        assert_ne!(found, crc32c(&file()));
    }

    #[test]
    fn an_empty_file_and_a_failing_source() {
        let empty: &[u8] = &[];
        assert_eq!(Checked::new(empty).crc32c(), Ok(0));
        let mut checked = Checked::new([1u8, 2, 3].as_slice());
        assert!(checked.read_at(2, &mut [0; 2]).is_err());
        assert_eq!(checked.unread_bytes(), 3);
    }

    #[test]
    fn checksum_files() {
        assert_eq!(parse_checksum(b"e3069283  model.gguf\n"), Some(0xE306_9283));
        assert_eq!(parse_checksum(b"E3069283"), Some(0xE306_9283));
        assert_eq!(parse_checksum(b"e3069283\r\n"), Some(0xE306_9283));
        for bad in [
            &b""[..],
            b"e306928",
            b"e30692831",
            b"+3069283",
            b"model.gguf e3069283",
        ] {
            assert_eq!(parse_checksum(bad), None);
        }
    }
}
