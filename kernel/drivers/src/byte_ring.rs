//! Bytes on their way between an interrupt handler and the program.
//!
//! One writer and one reader; each owns one of the two positions, so that plain loads and stores are enough.

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// A ring of `N` bytes, a power of two.
#[derive(Debug)]
pub struct ByteRing<const N: usize> {
    bytes: [AtomicU8; N],
    /// Bytes ever written; only the writer changes it.
    written: AtomicUsize,
    /// Bytes ever read; only the reader changes it.
    read: AtomicUsize,
}

impl<const N: usize> ByteRing<N> {
    /// An empty ring.
    pub const fn new() -> Self {
        // The positions wrap around.
        const { assert!(N.is_power_of_two()) };
        Self {
            bytes: [const { AtomicU8::new(0) }; N],
            written: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
        }
    }

    /// How many bytes there is room for, at least. For the writer.
    pub fn room(&self) -> usize {
        N - self.len()
    }

    /// How many bytes there are, at the moment.
    pub fn len(&self) -> usize {
        let read = self.read.load(Ordering::Acquire);
        self.written.load(Ordering::Acquire).wrapping_sub(read)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a byte if there is room for it. For the writer.
    pub fn push(&self, byte: u8) -> bool {
        if self.room() == 0 {
            return false;
        }
        let written = self.written.load(Ordering::Relaxed);
        self.bytes[written % N].store(byte, Ordering::Relaxed);
        // The byte before the position: the reader must not see the one without the other.
        self.written
            .store(written.wrapping_add(1), Ordering::Release);
        true
    }

    /// Takes the oldest byte. For the reader.
    pub fn pop(&self) -> Option<u8> {
        let read = self.read.load(Ordering::Relaxed);
        if read == self.written.load(Ordering::Acquire) {
            return None;
        }
        let byte = self.bytes[read % N].load(Ordering::Relaxed);
        self.read.store(read.wrapping_add(1), Ordering::Release);
        Some(byte)
    }
}

impl<const N: usize> Default for ByteRing<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 256;

    #[test]
    fn bytes_come_out_in_order_across_the_end() {
        let ring = ByteRing::<N>::new();
        for round in 0..5 {
            let bytes = (0..N * 2 / 3).map(|i| (i * 7 + round) as u8);
            assert!(bytes.clone().all(|byte| ring.push(byte)));
            assert_eq!(ring.room(), N - N * 2 / 3);
            let read = core::iter::from_fn(|| Some(ring.pop())).take(N * 2 / 3);
            assert!(bytes.map(Some).eq(read));
            assert!(ring.is_empty());
        }
        assert_eq!(ring.pop(), None);
    }

    #[test]
    fn a_full_ring_takes_nothing_and_keeps_what_it_has() {
        let ring = ByteRing::<N>::new();
        assert_eq!((0..N + 3).filter(|&i| ring.push(i as u8)).count(), N);
        let read: Vec<u8> = core::iter::from_fn(|| ring.pop()).collect();
        assert!(read.into_iter().eq((0..N).map(|i| i as u8)));
    }

    #[test]
    fn reader_and_writer_may_be_threads() {
        let ring: &'static ByteRing<N> = Box::leak(Box::new(ByteRing::new()));
        let n = 200_000_u32;
        let writer = std::thread::spawn(move || {
            for i in 0..n {
                while !ring.push(i as u8) {
                    std::thread::yield_now();
                }
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
