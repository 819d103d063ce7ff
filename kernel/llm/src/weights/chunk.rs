//! A piece of the file in memory.

use core::ops::Range;

use ops::arena::{Arena, Line, OutOfMemory};

/// A piece of the file, and before it what the piece before could not give away whole.
///
/// ```text
///   │ … unused │ kept │ read …  │
///   0                 headroom        a multiple of a cache line: a device writes whole ones
/// ```
pub(super) struct Chunk<'s> {
    memory: &'s mut [u8],
    headroom: usize,
    /// Bytes kept.
    kept: usize,
    /// Where in the file the bytes that were read are from.
    range: Range<u64>,
}

impl<'s> Chunk<'s> {
    /// Room for up to `len` bytes of the file, with up to `kept` before them.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub(super) fn new(arena: &mut Arena<'s>, kept: usize, len: usize) -> Result<Self, OutOfMemory> {
        let headroom = kept.next_multiple_of(Line::BYTES);
        Ok(Chunk {
            memory: arena.slice(headroom + len)?,
            headroom,
            kept: 0,
            range: 0..0,
        })
    }

    /// Where in the file the bytes that were read are from.
    pub(super) fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Becomes the piece `range` of the file, behind what `before` has from `keep` on, if it has that.
    pub(super) fn follow(&mut self, before: &Chunk<'_>, keep: u64, range: Range<u64>) {
        let kept = before.bytes(keep.min(before.range.end)..before.range.end);
        self.memory[..self.headroom][self.headroom - kept.len()..].copy_from_slice(kept);
        self.kept = kept.len();
        self.range = range;
    }

    /// Room for the bytes that are to be read.
    pub(super) fn buffer(&mut self) -> &mut [u8] {
        let len = (self.range.end - self.range.start) as usize;
        &mut self.memory[self.headroom..][..len]
    }

    /// The bytes `range` of the file.
    pub(super) fn bytes(&self, range: Range<u64>) -> &[u8] {
        let len = (range.end - range.start) as usize;
        let start = self.headroom as u64 + range.start - self.range.start;
        debug_assert!(start as usize >= self.headroom - self.kept && range.end <= self.range.end);
        &self.memory[start as usize..][..len]
    }
}
