//! Q4_K: 256 weights in 144 bytes, eight blocks of 32. Weight `i` of block `j` is
//! `d · scale_j · q_i − dmin · minimum_j`.
//!
//! In the file: f16 `d` and `dmin`, twelve bytes of 6-bit scales and minima, then for each two blocks
//! 32 bytes with the first's weights below and the second's above.

use super::copy::Aligned;
use super::nibbles::{self, Nibbles};
use super::{MR, Quantized, are_finite, f16_at};
use crate::float::f16_to_f32;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Four rows of eight blocks: the rows' `d` and `dmin`, then by block and row the scales, the
/// minima, and the nibbles.
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(16))]
pub struct Slab {
    /// Scales of the scales, as bits.
    pub d: [u16; MR],
    /// Scales of the minima, as bits.
    pub dmin: [u16; MR],
    /// Scales, 0 to 63.
    pub scale: [[u8; MR]; 8],
    /// Minima, 0 to 63.
    pub minimum: [[u8; MR]; 8],
    /// Low four bits.
    pub q: [[Nibbles; MR]; 8],
}

const _: () = assert!(size_of::<Slab>() == 592);

/// The format.
#[allow(non_camel_case_types, reason = "ggml's name")]
pub enum Q4_K {}

impl Quantized for Q4_K {
    type Slab = Slab;
    const BLOCKS: usize = 8;
    const HAS_MIN: bool = true;

    #[inline(always)] // Must take on the caller's target features.
    fn quants(slab: &Slab, j: usize, r: usize) -> [i8; 32] {
        nibbles::unpack(&slab.q[j][r]).map(|q| q as i8)
    }

    #[inline(always)] // Must take on the caller's target features.
    fn scales(slab: &Slab, j: usize) -> [f32; MR] {
        core::array::from_fn(|r| f16_to_f32(slab.d[r]) * f32::from(slab.scale[j][r]))
    }

    #[inline(always)] // Must take on the caller's target features.
    fn minima(slab: &Slab, j: usize) -> [f32; MR] {
        core::array::from_fn(|r| -(f16_to_f32(slab.dmin[r]) * f32::from(slab.minimum[j][r])))
    }

    fn is_finite(slab: &Slab) -> bool {
        are_finite(&slab.d) && are_finite(&slab.dmin)
    }

    fn pack_row(file_row: &[u8], r: usize, slabs: &mut [Slab]) {
        let (blocks, _) = file_row.as_chunks::<144>();
        let mut aligned = Aligned::<144>::new();
        for (slab, block) in slabs.iter_mut().zip(blocks) {
            let block = aligned.copy_of(block);
            slab.d[r] = f16_at(block, 0);
            slab.dmin[r] = f16_at(block, 2);
            for j in 0..8 {
                (slab.scale[j][r], slab.minimum[j][r]) = scale_and_minimum(&block[4..16], j);
                let bytes = &block[16 + j / 2 * 32..][..32];
                let shift = j % 2 * 4;
                slab.q[j][r] = nibbles::pack(core::array::from_fn(|i| bytes[i] >> shift & 0xF));
            }
        }
    }
}

/// The 6-bit scale and minimum of block `j` out of the twelve bytes of eight.
///
/// Blocks 0 to 3 have theirs in the low six bits of bytes `j` and `j + 4`; those of blocks 4 to 7 are
/// nibbles of byte `j + 4`, with their upper two bits in the spare bits of bytes `j − 4` and `j`.
pub(super) fn scale_and_minimum(bytes: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        (bytes[j] & 0x3F, bytes[j + 4] & 0x3F)
    } else {
        let low = bytes[j + 4];
        (
            low & 0xF | bytes[j - 4] >> 6 << 4,
            low >> 4 | bytes[j] >> 6 << 4,
        )
    }
}
