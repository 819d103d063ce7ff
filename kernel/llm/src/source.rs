//! Where a model's bytes come from.
//!
//! The firmware implements [`ModelSource`] over a file on the card, the host tool over a file of
//! its operating system, tests over a slice.

use core::error;

/// A model file that can be read at any offset.
pub trait ModelSource {
    /// Why a read failed.
    type Error: error::Error;

    /// Length of the whole file.
    fn len_bytes(&self) -> u64;

    /// In how many pieces it lies on its medium, where that is known: each costs a command of its own.
    fn n_pieces(&self) -> Option<usize> {
        None
    }

    /// Fills `buf` with the bytes at `offset`.
    ///
    /// # Errors
    /// A range that does not lie in the file, or a device that fails; what `buf` holds then is
    /// unspecified.
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), Self::Error>;

    /// Where, from `offset` on, the bytes begin whose CRC-32C is wanted; `None` if none ever is.
    ///
    /// [`ModelSource::read_at`] takes it by itself. Who reads much takes it on a core that is idle:
    /// reads by [`ModelSource::read_unchecked`], and hands it in by [`ModelSource::note_checksum`].
    fn unchecked_from(&self, offset: u64) -> Option<u64> {
        let _ = offset;
        None
    }

    /// [`ModelSource::read_at`] without the checksum.
    ///
    /// # Errors
    /// As [`ModelSource::read_at`].
    fn read_unchecked(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), Self::Error> {
        self.read_at(offset, buf)
    }

    /// Takes in the CRC-32C of the `len_bytes` bytes at `offset`, as they were read.
    fn note_checksum(&mut self, offset: u64, len_bytes: u64, crc32c: u32) {
        let _ = (offset, len_bytes, crc32c);
    }

    /// Ends the reading: reads what nobody has read and compares the file's checksum, where there is one.
    ///
    /// # Errors
    /// As [`ModelSource::read_at`], or another checksum than the file should have.
    fn finish(self) -> Result<(), Self::Error>
    where
        Self: Sized,
    {
        Ok(())
    }
}

/// A read that reaches past the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reading the model at byte {offset}: past the end of the file")]
pub struct PastEnd {
    /// First byte of the read.
    pub offset: u64,
}

impl ModelSource for &[u8] {
    type Error = PastEnd;

    fn len_bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), PastEnd> {
        let past_end = PastEnd { offset };
        let start = usize::try_from(offset).map_err(|_| past_end)?;
        let end = start.checked_add(buf.len()).ok_or(past_end)?;
        buf.copy_from_slice(self.get(start..end).ok_or(past_end)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_reads_inside_and_refuses_outside() {
        let mut source: &[u8] = &[1, 2, 3, 4];
        let mut buf = [0; 2];
        source.read_at(2, &mut buf).unwrap();
        assert_eq!(buf, [3, 4]);
        assert_eq!(source.read_at(3, &mut buf).unwrap_err().offset, 3);
        assert!(source.read_at(u64::MAX, &mut buf).is_err());
    }
}
