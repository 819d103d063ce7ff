//! One core's share of a chunk: bytes to take the checksum of, rows to pack.

use alloc::vec::Vec;
use core::ops::Range;

use ops::crc32c::Crc32c;
use ops::matrix::{self, Packing};

use super::chunk::Chunk;
use super::times::Timer;

/// What one core does with a chunk, and what came of it.
#[derive(Default)]
pub(super) struct Share<'c> {
    /// Where in the file the bytes are from whose checksum is taken.
    pub checked: Range<u64>,
    bytes: &'c [u8],
    packings: Vec<(usize, Packing<'c>)>,
    /// CRC-32C of the bytes.
    pub crc32c: u32,
    /// The first tensor that is damaged, by its number, and how.
    pub damaged: Option<(usize, matrix::Error)>,
    pub pack_us: u64,
    pub checksum_us: u64,
}

impl<'c> Share<'c> {
    /// Shares for `n` cores.
    pub(super) fn of(n: usize) -> Vec<Share<'c>> {
        (0..n).map(|_| Share::default()).collect()
    }

    /// Deals the rows of tensor number `tensor` out.
    pub(super) fn deal_rows(shares: &mut [Share<'c>], tensor: usize, packing: Packing<'c>) {
        let (n, groups) = (shares.len(), packing.groups());
        let mut rest = packing;
        for (i, share) in shares.iter_mut().enumerate() {
            let (mine, others) = rest.split_at(groups * (i + 1) / n - groups * i / n);
            share.packings.push((tensor, mine));
            rest = others;
        }
    }

    /// Deals the bytes of `chunk` from place `from` of the file on out, for their checksum.
    pub(super) fn deal_bytes(shares: &mut [Share<'c>], chunk: &'c Chunk<'_>, from: u64) {
        let end = chunk.range().end;
        let len = end.saturating_sub(from);
        let n = shares.len() as u64;
        for (share, i) in shares.iter_mut().zip(0..) {
            share.checked = end - len + len * i / n..end - len + len * (i + 1) / n;
            share.bytes = chunk.bytes(share.checked.clone());
        }
    }

    /// Does it.
    pub(super) fn work(&mut self, timer: Timer) {
        let started = timer();
        let mut crc = Crc32c::new();
        crc.update(self.bytes);
        let checked = timer();
        for (tensor, packing) in self.packings.drain(..) {
            let result = packing.run().map_err(|error| (tensor, error));
            self.damaged = self.damaged.take().or(result.err());
        }
        self.crc32c = crc.value();
        self.pack_us = timer().saturating_sub(checked);
        self.checksum_us = checked.saturating_sub(started);
    }
}
