//! Received bytes on their way from the interrupt to whoever reads them.
//!
//! One writer (the interrupt handler) and one reader; each owns one of the two positions, so that
//! plain loads and stores are enough.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};

/// Bytes that fit: 1.4 s of pasting at 115200 baud.
pub const RING_BYTES: usize = 16 << 10;

/// Ctrl-C.
const END_OF_TEXT: u8 = 0x03;

/// A ring of received bytes, with what went wrong on the line.
#[derive(Debug)]
pub struct RxRing {
    bytes: [AtomicU8; RING_BYTES],
    /// Bytes ever written; only the writer changes it.
    written: AtomicUsize,
    /// Bytes ever read; only the reader changes it.
    read: AtomicUsize,
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

impl RxRing {
    /// An empty ring.
    pub const fn new() -> Self {
        Self {
            bytes: [const { AtomicU8::new(0) }; RING_BYTES],
            written: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            interrupted: AtomicBool::new(false),
            overruns: AtomicU32::new(0),
            damaged: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
        }
    }

    /// Adds a byte. For the writer.
    pub fn push(&self, byte: u8) {
        if byte == END_OF_TEXT {
            self.interrupted.store(true, Ordering::Relaxed);
        }
        let written = self.written.load(Ordering::Relaxed);
        if written.wrapping_sub(self.read.load(Ordering::Acquire)) == RING_BYTES {
            add_one(&self.dropped);
            return;
        }
        self.bytes[written % RING_BYTES].store(byte, Ordering::Relaxed);
        // The byte before the position: the reader must not see the one without the other.
        self.written
            .store(written.wrapping_add(1), Ordering::Release);
    }

    /// Takes the oldest byte. For the reader.
    pub fn pop(&self) -> Option<u8> {
        let read = self.read.load(Ordering::Relaxed);
        if read == self.written.load(Ordering::Acquire) {
            return None;
        }
        let byte = self.bytes[read % RING_BYTES].load(Ordering::Relaxed);
        self.read.store(read.wrapping_add(1), Ordering::Release);
        Some(byte)
    }

    /// Whether there is nothing to take.
    pub fn is_empty(&self) -> bool {
        self.read.load(Ordering::Relaxed) == self.written.load(Ordering::Acquire)
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
        add_one(&self.overruns);
    }

    /// A byte arrived damaged. For the writer.
    pub fn count_damaged(&self) {
        add_one(&self.damaged);
    }
}

impl Default for RxRing {
    fn default() -> Self {
        Self::new()
    }
}

/// There is one writer: load and store are enough.
fn add_one(counter: &AtomicU32) {
    let count = counter.load(Ordering::Relaxed);
    counter.store(count.saturating_add(1), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_order_across_the_end() {
        let ring = RxRing::new();
        for round in 0..5 {
            let bytes = (0..RING_BYTES * 2 / 3).map(|i| (i * 7 + round) as u8);
            bytes.clone().for_each(|byte| ring.push(byte));
            assert!(
                bytes
                    .map(Some)
                    .eq(core::iter::from_fn(|| Some(ring.pop())).take(RING_BYTES * 2 / 3))
            );
            assert!(ring.is_empty());
        }
        assert_eq!(ring.pop(), None);
    }

    #[test]
    fn what_does_not_fit_is_counted_and_the_rest_survives() {
        let ring = RxRing::new();
        (0..RING_BYTES + 3).for_each(|i| ring.push(i as u8));
        assert_eq!(ring.errors().dropped, 3);
        let read: Vec<u8> = core::iter::from_fn(|| ring.pop()).collect();
        assert_eq!(read.len(), RING_BYTES);
        assert_eq!(read[RING_BYTES - 1], (RING_BYTES - 1) as u8);
    }

    #[test]
    fn ctrl_c_is_seen_even_behind_other_bytes_or_in_a_full_ring() {
        let ring = RxRing::new();
        (0..RING_BYTES).for_each(|_| ring.push(b'x'));
        assert!(!ring.is_interrupted());
        ring.push(END_OF_TEXT);
        assert!(ring.is_interrupted());
        ring.clear_interrupted();
        assert!(!ring.is_interrupted());
    }

    #[test]
    fn reader_and_writer_may_be_threads() {
        let ring: &'static RxRing = Box::leak(Box::new(RxRing::new()));
        let n = 200_000_u32;
        let writer = std::thread::spawn(move || {
            for i in 0..n {
                while ring.written.load(Ordering::Relaxed) - ring.read.load(Ordering::Relaxed)
                    == RING_BYTES
                {
                    std::thread::yield_now();
                }
                ring.push(i as u8);
            }
        });
        for i in 0..n {
            let byte = loop {
                match ring.pop() {
                    Some(byte) => break byte,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(byte, i as u8);
        }
        writer.join().unwrap();
    }
}
