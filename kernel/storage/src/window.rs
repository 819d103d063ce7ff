//! Read-ahead: a run of blocks kept in memory, longer while reads are sequential.

use alloc::vec;
use alloc::vec::Vec;

use crate::device::{BLOCK_BYTES, BlockDevice};

/// One cache line of the board; DMA writes whole ones.
const LINE_BYTES: usize = 64;

/// So many blocks are wanted at once by who reads a file from front to back.
const MANY_BLOCKS: u64 = 64;

/// Blocks that were read, and some that may be wanted next.
#[derive(Debug)]
pub(crate) struct Window {
    memory: Vec<u8>,
    /// Where aligned memory begins.
    start: usize,
    min_blocks: usize,
    max_blocks: usize,
    /// First block held, and how many.
    first: u64,
    len: usize,
    /// Length of the last fill, before any limit cut it.
    fill: usize,
    /// The block after the last one that was read, here or past this window.
    next: u64,
}

impl Window {
    /// An empty window that fills `min_blocks` at first and up to `max_blocks` on sequential misses.
    pub(crate) fn new(min_blocks: usize, max_blocks: usize) -> Self {
        let memory = vec![0; max_blocks * BLOCK_BYTES + LINE_BYTES];
        let start = memory.as_ptr().align_offset(LINE_BYTES).min(LINE_BYTES);
        Self {
            memory,
            start,
            min_blocks,
            max_blocks,
            first: 0,
            len: 0,
            fill: 0,
            next: u64::MAX,
        }
    }

    pub(crate) fn max_bytes(&self) -> usize {
        self.max_blocks * BLOCK_BYTES
    }

    /// Whether `block` is held.
    pub(crate) fn holds(&self, block: u64) -> bool {
        block >= self.first && block - self.first < self.len as u64
    }

    /// Takes note of a long read past this window, up to block `end`: what follows is worth reading
    /// ahead.
    pub(crate) fn passed(&mut self, end: u64) {
        self.next = end;
        self.fill = self.max_blocks;
    }

    /// The bytes held from `block` on, at least one block of them; reads if it has to.
    ///
    /// `wanted` is how many blocks the reader asks for, here and elsewhere: one who asks for many goes on
    /// behind them, and the window fills at once. `ahead` is how many from `block` on are worth reading,
    /// at least 1.
    pub(crate) fn bytes<D: BlockDevice>(
        &mut self,
        device: &mut D,
        block: u64,
        wanted: u64,
        ahead: u64,
    ) -> Result<&[u8], D::Error> {
        if !self.holds(block) {
            self.fill = if wanted >= MANY_BLOCKS {
                self.max_blocks
            } else if block == self.next {
                (self.fill * 2).min(self.max_blocks)
            } else {
                self.min_blocks
            };
            let len = ahead.clamp(1, self.fill as u64) as usize;
            // Nothing is held while the read may still fail.
            self.len = 0;
            self.next = u64::MAX;
            let memory = &mut self.memory[self.start..][..len * BLOCK_BYTES];
            device.read_blocks(block, memory)?;
            self.first = block;
            self.len = len;
            self.next = block + len as u64;
        }
        let skip = (block - self.first) as usize * BLOCK_BYTES;
        let held = &self.memory[self.start..][..self.len * BLOCK_BYTES];
        Ok(&held[skip..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Block;

    /// Remembers what it was asked for.
    struct Recorder {
        reads: Vec<(u64, usize)>,
        fail: bool,
    }

    impl BlockDevice for Recorder {
        type Error = core::fmt::Error;

        fn n_blocks(&self) -> u64 {
            1 << 20
        }

        fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), Self::Error> {
            assert_eq!(buf.as_ptr().align_offset(LINE_BYTES), 0);
            self.reads.push((first, buf.len() / BLOCK_BYTES));
            if self.fail {
                return Err(core::fmt::Error);
            }
            for (i, block) in buf.chunks_mut(BLOCK_BYTES).enumerate() {
                block.fill((first as usize + i) as u8);
            }
            Ok(())
        }
    }

    fn recorder() -> Recorder {
        Recorder {
            reads: Vec::new(),
            fail: false,
        }
    }

    #[test]
    fn grows_on_sequential_misses_only() {
        let mut device = recorder();
        let mut window = Window::new(2, 8);
        for block in 100..120 {
            let bytes = window.bytes(&mut device, block, 1, 1000).unwrap();
            let first: &Block = bytes[..512].try_into().unwrap();
            assert_eq!(first, &[block as u8; 512]);
        }
        assert_eq!(device.reads, [(100, 2), (102, 4), (106, 8), (114, 8)]);
        device.reads.clear();
        for block in [500, 501, 10, 10, 11, 9] {
            window.bytes(&mut device, block, 1, 1000).unwrap();
        }
        assert_eq!(device.reads, [(500, 2), (10, 2), (9, 2)]);
    }

    #[test]
    fn reads_ahead_after_a_long_read_past_it() {
        let mut device = recorder();
        let mut window = Window::new(2, 8);
        window.bytes(&mut device, 3, 1, 1000).unwrap();
        window.passed(100);
        assert!(window.holds(3));
        for block in [100, 108, 50] {
            window.bytes(&mut device, block, 1, 1000).unwrap();
        }
        assert_eq!(device.reads, [(3, 2), (100, 8), (108, 8), (50, 2)]);
    }

    #[test]
    fn fills_at_once_for_who_wants_much() {
        let mut device = recorder();
        let mut window = Window::new(2, 128);
        window.bytes(&mut device, 3, MANY_BLOCKS, 1000).unwrap();
        window.bytes(&mut device, 500, MANY_BLOCKS, 70).unwrap();
        window
            .bytes(&mut device, 900, MANY_BLOCKS - 1, 1000)
            .unwrap();
        assert_eq!(device.reads, [(3, 128), (500, 70), (900, 2)]);
    }

    #[test]
    fn reads_no_further_than_is_worth_it() {
        let mut device = recorder();
        let mut window = Window::new(4, 8);
        assert_eq!(window.bytes(&mut device, 7, 1, 3).unwrap().len(), 3 * 512);
        assert_eq!(window.bytes(&mut device, 9, 1, 1).unwrap().len(), 512);
        window.bytes(&mut device, 10, 1, 1).unwrap();
        assert_eq!(device.reads, [(7, 3), (10, 1)]);
    }

    #[test]
    fn a_failed_read_leaves_nothing_behind() {
        let mut device = recorder();
        let mut window = Window::new(2, 8);
        window.bytes(&mut device, 0, 1, 9).unwrap();
        device.fail = true;
        window.bytes(&mut device, 7, 1, 9).unwrap_err();
        assert!(!window.holds(0) && !window.holds(7));
        device.fail = false;
        assert_eq!(window.bytes(&mut device, 0, 1, 9).unwrap()[0], 0);
    }
}
