//! Received bytes on their way from the interrupt to whoever reads them, with what went wrong on the line.

use crate::byte_ring::ByteRing;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Bytes that fit: what a program may send without waiting for answers, whatever the core is busy with.
pub const RING_BYTES: usize = 512 << 10;

/// Ctrl-C.
const END_OF_TEXT: u8 = 0x03;

/// Stands where bytes are missing. It is in no UTF-8 text, so that two halves are not taken for a line.
pub const GAP: u8 = 0xFF;

/// A ring of received bytes.
#[derive(Debug)]
pub struct RxRing<const N: usize = RING_BYTES> {
    bytes: ByteRing<N>,
    /// Whether bytes are missing behind the last one; only the writer's.
    has_gap: AtomicBool,
    interrupted: AtomicBool,
    overruns: AtomicU32,
    damaged: AtomicU32,
    dropped: AtomicU32,
}

/// What went wrong on the line since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineErrors {
    /// Times that the UART's FIFO was full: at least one byte lost each.
    pub overruns: u32,
    /// Bytes with a wrong stop bit or parity, and breaks.
    pub damaged: u32,
    /// Bytes for which the ring had no room.
    pub dropped: u32,
}

impl<const N: usize> RxRing<N> {
    /// An empty ring.
    pub const fn new() -> Self {
        Self {
            bytes: ByteRing::new(),
            has_gap: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            overruns: AtomicU32::new(0),
            damaged: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
        }
    }

    /// Adds a byte, behind [`GAP`] if some are missing before it. For the writer.
    pub fn push(&self, byte: u8) {
        if byte == END_OF_TEXT {
            self.interrupted.store(true, Ordering::Relaxed);
        }
        let has_gap = self.has_gap.load(Ordering::Relaxed);
        if self.bytes.room() < 1 + usize::from(has_gap) {
            self.lose(&self.dropped);
            return;
        }
        if has_gap {
            self.has_gap.store(false, Ordering::Relaxed);
            self.bytes.push(GAP);
        }
        self.bytes.push(byte);
    }

    /// Takes the oldest byte. For the reader.
    pub fn pop(&self) -> Option<u8> {
        self.bytes.pop()
    }

    /// Whether there is nothing to take.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether Ctrl-C has arrived since the flag was last cleared, wherever in the ring it is.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Forgets a Ctrl-C that has been acted upon.
    pub fn clear_interrupted(&self) {
        self.interrupted.store(false, Ordering::Relaxed);
    }

    /// What went wrong since the start.
    pub fn errors(&self) -> LineErrors {
        LineErrors {
            overruns: self.overruns.load(Ordering::Relaxed),
            damaged: self.damaged.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }

    /// The UART lost bytes. For the writer.
    pub fn count_overrun(&self) {
        self.lose(&self.overruns);
    }

    /// A byte arrived damaged. For the writer.
    pub fn count_damaged(&self) {
        self.lose(&self.damaged);
    }

    /// There is one writer: load and store are enough.
    fn lose(&self, counter: &AtomicU32) {
        self.has_gap.store(true, Ordering::Relaxed);
        let count = counter.load(Ordering::Relaxed);
        counter.store(count.saturating_add(1), Ordering::Relaxed);
    }
}

impl<const N: usize> Default for RxRing<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 256;

    fn rest(ring: &RxRing<N>) -> Vec<u8> {
        core::iter::from_fn(|| ring.pop()).collect()
    }

    #[test]
    fn what_does_not_fit_is_counted_and_the_rest_survives() {
        let ring = RxRing::<N>::new();
        (0..N + 3).for_each(|i| ring.push(i as u8));
        assert_eq!(ring.errors().dropped, 3);
        let read = rest(&ring);
        assert_eq!(read.len(), N);
        assert_eq!(read[N - 1], (N - 1) as u8);
    }

    #[test]
    fn where_bytes_are_missing_stands_what_no_text_has() {
        let ring = RxRing::<N>::new();
        ring.push(b'a');
        ring.count_damaged();
        ring.count_damaged();
        ring.push(b'b');
        ring.count_overrun();
        assert_eq!(rest(&ring), [b'a', GAP, b'b']);
        (0..N + 3).for_each(|_| ring.push(b'x'));
        assert_eq!(ring.pop(), Some(GAP));
        // Room for the byte alone is none: its place in the text would not be seen.
        ring.push(b'y');
        assert_eq!(ring.errors().dropped, 3 + 1 + 1);
        ring.pop();
        ring.push(b'z');
        let read = rest(&ring);
        assert_eq!(read[N - 4..], [b'x', b'x', GAP, b'z']);
        assert_eq!((ring.errors().damaged, ring.errors().overruns), (2, 1));
    }

    #[test]
    fn ctrl_c_is_seen_even_behind_other_bytes_or_in_a_full_ring() {
        let ring = RxRing::<N>::new();
        (0..N).for_each(|_| ring.push(b'x'));
        assert!(!ring.is_interrupted());
        ring.push(END_OF_TEXT);
        assert!(ring.is_interrupted());
        ring.clear_interrupted();
        assert!(!ring.is_interrupted());
    }
}
