//! A reading position that cannot leave its bytes.

use super::Error;

/// Reads little-endian values from the first bytes of a file.
pub(super) struct Cursor<'a> {
    window: &'a [u8],
    pos: usize,
    file_len_bytes: u64,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(window: &'a [u8], file_len_bytes: u64) -> Self {
        Cursor {
            window,
            pos: 0,
            file_len_bytes,
        }
    }

    /// Offset of the next byte in the file.
    pub(super) fn pos(&self) -> u64 {
        self.pos as u64
    }

    /// Checks a count that was read at `offset`: at most `max`, and no more than the file has room
    /// for at `min_bytes` each. After this a loop over it ends soon.
    pub(super) fn check_count(
        &self,
        what: &'static str,
        offset: u64,
        count: u64,
        max: u64,
        min_bytes: u64,
    ) -> Result<(), Error> {
        if count > max {
            return Err(Error::CountTooLarge {
                what,
                offset,
                count,
                max,
            });
        }
        // No overflow: counts are capped far below 2^32, and lengths of one element below 2^6.
        let needed_bytes = self.pos() + count * min_bytes;
        self.check_in_file(needed_bytes)
    }

    fn check_in_file(&self, needed_bytes: u64) -> Result<(), Error> {
        let have_bytes = self.file_len_bytes;
        if needed_bytes > have_bytes {
            return Err(Error::FileTooShort {
                have_bytes,
                needed_bytes,
            });
        }
        Ok(())
    }

    pub(super) fn bytes(&mut self, len: u64) -> Result<&'a [u8], Error> {
        let end = self
            .pos()
            .checked_add(len)
            .ok_or(Error::LengthOverflow { offset: self.pos() })?;
        self.check_in_file(end)?;
        // An end that does not fit a usize lies past any window.
        let place = usize::try_from(end).map_or(self.pos..usize::MAX, |end| self.pos..end);
        let bytes = self.window.get(place);
        let bytes = bytes.ok_or(Error::Truncated { needed_bytes: end })?;
        self.pos += bytes.len();
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N as u64)?);
        Ok(out)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A string that must be text.
    pub(super) fn name(&mut self, max_bytes: u64) -> Result<&'a str, Error> {
        let offset = self.pos();
        let name = core::str::from_utf8(self.string(max_bytes)?);
        name.map_err(|_| Error::NameNotUtf8 { offset })
    }

    /// A string's bytes; its UTF-8 is not checked.
    pub(super) fn string(&mut self, max_bytes: u64) -> Result<&'a [u8], Error> {
        let offset = self.pos();
        let len_bytes = self.u64()?;
        if len_bytes > max_bytes {
            return Err(Error::StringTooLong {
                offset,
                len_bytes,
                max_bytes,
            });
        }
        self.bytes(len_bytes)
    }
}
