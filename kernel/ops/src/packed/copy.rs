//! Bytes of the file into their places.
//!
//! In a file blocks have odd lengths and stand anywhere; the target forbids unaligned access, and what
//! the compiler makes of a copy between such places is a call of `memcpy` for a block of 34 bytes.

use zerocopy::{FromBytes, IntoBytes};

/// Puts `N` bytes of the file, numbers in little-endian order, into a place of that size.
#[inline(always)] // A few instructions: places and lengths are constants of the caller's loop.
pub fn put<const N: usize, T: FromBytes + IntoBytes>(file: &[u8; N], place: &mut T) {
    const { assert!(N == size_of::<T>() && N.is_multiple_of(16) && cfg!(target_endian = "little")) };
    let place = place.as_mut_bytes();
    #[cfg(target_arch = "aarch64")]
    {
        use crate::neon::copy::{copy16, copy32};
        let (wide, narrow) = file.as_chunks::<32>();
        let (wide_place, narrow_place) = place.as_chunks_mut::<32>();
        for (from, to) in wide.iter().zip(wide_place) {
            copy32(from, to);
        }
        if let ([from, ..], [to, ..]) = (
            narrow.as_chunks::<16>().0,
            narrow_place.as_chunks_mut::<16>().0,
        ) {
            copy16(from, to);
        }
    }
    #[cfg(not(target_arch = "aarch64"))]
    place.copy_from_slice(file);
}

/// `N` bytes from `at` on, with the length in the type.
#[inline(always)] // Nothing but a check, which folds away where the place is known.
pub fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> &[u8; N] {
    bytes[at..]
        .first_chunk()
        .expect("the block has these bytes")
}

/// Room for a block's bytes where vectors can be loaded from.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Aligned<const N: usize>([u8; N]);

impl<const N: usize> Aligned<N> {
    /// Zeros.
    pub const fn new() -> Self {
        Aligned([0; N])
    }

    /// The bytes of `block`, here.
    #[inline(always)] // A load and a store for sixteen bytes.
    pub fn copy_of(&mut self, block: &[u8; N]) -> &[u8; N] {
        let (from, _) = block.as_chunks::<16>();
        let (to, rest) = self.0.as_chunks_mut::<16>();
        for (from, to) in from.iter().zip(to) {
            put(from, to);
        }
        if !N.is_multiple_of(16) {
            rest.copy_from_slice(&block[N - N % 16..]);
        }
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_as_numbers_from_any_place() {
        let bytes: [u8; 100] = core::array::from_fn(|i| i as u8);
        let mut aligned = Aligned::<50>::new();
        for at in 0..32 {
            let mut words = [0u16; 24];
            put::<48, _>(bytes_at(&bytes, at), &mut words);
            let expected = core::array::from_fn(|i| {
                let low = at + 2 * i;
                u16::from_le_bytes([low as u8, low as u8 + 1])
            });
            assert_eq!(words, expected);
            assert_eq!(aligned.copy_of(bytes_at(&bytes, at)), &bytes[at..at + 50]);
        }
    }
}
