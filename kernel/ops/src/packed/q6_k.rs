//! Q6_K: 256 weights in 210 bytes, sixteen blocks of 16. Weight `i` of block `j` is
//! `d · scale_j · (q_i − 32)`.
//!
//! In the file: for each half of 128 weights 64 bytes of low nibbles and 32 bytes of upper bits,
//! (all low nibbles first), 16 signed scales, f16 `d`. Within a half, byte `l` (0 to 31) of the
//! nibbles holds weights `l` and `l + 64`, byte `l + 32` holds `l + 32` and `l + 96`; byte `l` of the
//! upper bits holds two bits each of `l`, `l + 32`, `l + 64`, `l + 96`.

use super::copy::Aligned;
use super::nibbles::{self, Nibbles, Plane};
use super::{MR, Quantized, are_finite, dot, f16_at};
use crate::float::f16_to_f32;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Four rows of eight blocks of 32: the rows' `d`, the scales of both halves of the blocks, then by
/// block the planes of fifth and sixth bits, and by block and row the nibbles.
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(16))]
pub struct Slab {
    /// Scales of the scales, as bits.
    pub d: [u16; MR],
    /// Keeps what follows on 16 bytes.
    pub padding: [u16; MR],
    /// Scales of the first and the second sixteen weights of a block.
    pub scale: [[[i8; MR]; 2]; 8],
    /// Fifth and sixth bits.
    pub high: [[Plane; 2]; 8],
    /// Low four bits.
    pub q: [[Nibbles; MR]; 8],
}

const _: () = assert!(size_of::<Slab>() == 848);

/// The format.
#[allow(non_camel_case_types, reason = "ggml's name")]
pub enum Q6_K {}

impl Quantized for Q6_K {
    type Slab = Slab;
    const BLOCKS: usize = 8;

    #[inline(always)] // Must take on the caller's target features.
    fn quants(slab: &Slab, j: usize, r: usize) -> [i8; 32] {
        let low = nibbles::unpack_five(&slab.q[j][r], &slab.high[j][0], r);
        let sixth = nibbles::bits(&slab.high[j][1], r);
        core::array::from_fn(|i| (low[i] | sixth[i] << 5) as i8 - 32)
    }

    /// With the scales of the two halves of the block in the sum.
    #[inline(always)] // Must take on the caller's target features.
    fn dot(slab: &Slab, j: usize, r: usize, q: &[i8; 32], x: &[i8; 32]) -> i32 {
        let [first, second] = slab.scale[j].map(|scales| i32::from(scales[r]));
        first * dot(&q[..16], &x[..16]) + second * dot(&q[16..], &x[16..])
    }

    #[inline(always)] // Must take on the caller's target features.
    fn scales(slab: &Slab, _: usize) -> [f32; MR] {
        slab.d.map(f16_to_f32)
    }

    #[inline(always)] // Must take on the caller's target features.
    fn weights(slab: &Slab, j: usize, r: usize) -> [f32; 32] {
        let (d, q) = (f16_to_f32(slab.d[r]), Self::quants(slab, j, r));
        core::array::from_fn(|i| d * f32::from(slab.scale[j][i / 16][r]) * f32::from(q[i]))
    }

    #[inline(always)] // Must take on the caller's target features.
    fn dequantize(slab: &Slab, j: usize, r: usize) -> [f32; 32] {
        Self::weights(slab, j, r)
    }

    fn is_finite(slab: &Slab) -> bool {
        are_finite(&slab.d)
    }

    fn pack_row(file_row: &[u8], r: usize, slabs: &mut [Slab]) {
        let (blocks, _) = file_row.as_chunks::<210>();
        let mut aligned = Aligned::<210>::new();
        for (slab, block) in slabs.iter_mut().zip(blocks) {
            let block = aligned.copy_of(block);
            slab.d[r] = f16_at(block, 208);
            for j in 0..8 {
                // A block of 32 is one of the four quarters of a half.
                let (half, quarter) = (j / 4, j % 4);
                let low = &block[half * 64 + quarter % 2 * 32..][..32];
                let high = &block[128 + half * 32..][..32];
                let low = core::array::from_fn(|i| low[i] >> (quarter / 2 * 4) & 0xF);
                slab.q[j][r] = nibbles::pack(low);
                for bit in 0..2 {
                    let bits = core::array::from_fn(|i| high[i] >> (2 * quarter + bit) & 1);
                    nibbles::set_bits(&mut slab.high[j][bit], r, bits);
                }
                for h in 0..2 {
                    slab.scale[j][h][r] = block[192 + 2 * j + h] as i8;
                }
            }
        }
    }
}
