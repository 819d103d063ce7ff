//! A file's bytes: straight into the caller's buffer, or through the window.

use super::Volume;
use crate::device::{BLOCK_BYTES, BlockDevice};
use crate::error::Error;
use crate::file::File;

impl<D: BlockDevice> Volume<D> {
    /// Fills `buf` with the file's bytes from `offset` on.
    ///
    /// Large requests go straight into `buf`, one device read per piece of the file; small ones
    /// through the data window. Straight reads need an `offset` that is a multiple of 512 and a
    /// `buf` that the device takes, see [`BlockDevice::is_direct`].
    pub fn read_at(
        &mut self,
        file: &File,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<(), Error<D::Error>> {
        let len = buf.len() as u64;
        let past_end = || Error::PastEnd {
            name: file.name.clone(),
            offset,
            len,
            file_len: file.len_bytes,
        };
        if offset
            .checked_add(len)
            .is_none_or(|end| end > file.len_bytes)
        {
            return Err(past_end());
        }
        let mut offset = offset;
        let mut buf = buf;
        let wanted = len / BLOCK_BYTES as u64;
        while !buf.is_empty() {
            let file_block = (offset / BLOCK_BYTES as u64) as u32;
            let skip = (offset % BLOCK_BYTES as u64) as usize;
            let (block, in_a_row) = file.runs.locate(file_block).ok_or_else(past_end)?;
            let n = match self.straight_len(skip, block, in_a_row, buf) {
                0 => self.copy_from_window(block, in_a_row, skip, wanted, buf),
                n => self.read_straight(block, &mut buf[..n]),
            }
            .map_err(Error::Device)?;
            offset += n as u64;
            buf = &mut buf[n..];
        }
        Ok(())
    }

    /// How many bytes to read without the window; 0 if the window is the better way.
    fn straight_len(&self, skip: usize, block: u64, in_a_row: u32, buf: &[u8]) -> usize {
        if skip != 0 || self.data_window.holds(block) {
            return 0;
        }
        let in_a_row = in_a_row as usize * BLOCK_BYTES;
        let n = (buf.len() - buf.len() % BLOCK_BYTES).min(in_a_row);
        // The window is for small pieces that continue; where the piece ends it cannot read ahead.
        let worth_it = n >= self.data_window.max_bytes().min(in_a_row);
        if worth_it && self.device.is_direct(&buf[..n]) {
            n
        } else {
            0
        }
    }

    fn read_straight(&mut self, block: u64, buf: &mut [u8]) -> Result<usize, D::Error> {
        self.device.read_blocks(block, buf)?;
        let n_blocks = (buf.len() / BLOCK_BYTES) as u64;
        self.data_window.passed(block + n_blocks);
        Ok(buf.len())
    }

    fn copy_from_window(
        &mut self,
        block: u64,
        in_a_row: u32,
        skip: usize,
        wanted: u64,
        buf: &mut [u8],
    ) -> Result<usize, D::Error> {
        let ahead = u64::from(in_a_row);
        let held = self
            .data_window
            .bytes(&mut self.device, block, wanted, ahead)?;
        // The window may hold blocks of another file behind this piece.
        let held = &held[skip..held.len().min(in_a_row as usize * BLOCK_BYTES)];
        let n = held.len().min(buf.len());
        buf[..n].copy_from_slice(&held[..n]);
        Ok(n)
    }
}
