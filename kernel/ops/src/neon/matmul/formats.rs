//! How each quantised format is read: its scales, its integers, its minima.

use core::arch::aarch64::*;

use super::super::load::load;
use super::{Block, QuantizedNeon, Reader, Unscaled, tile, widen_f16};
use crate::activations::QuantPair;
use crate::lanes::F32x4;
use crate::packed::{MR, q4_0, q4_1, q4_k, q5_0, q5_1, q5_k, q8_0};

/// Makes what both kernels of a format need of its [`Reader`].
macro_rules! kernels {
    ($($(#[$doc:meta])* $Q:ty = $reader:expr;)*) => {$(
        $(#[$doc])*
        impl QuantizedNeon for $Q {
            #[inline]
            #[target_feature(enable = "neon")]
            unsafe fn tile<const NR: usize>(
                group: &[Self::Slab],
                x: &[QuantPair<NR>],
                n_blocks: usize,
            ) -> [F32x4; NR] {
                tile::<Self, _, _, _, NR>(group, x, n_blocks, &$reader)
            }

            #[inline]
            #[target_feature(enable = "neon")]
            unsafe fn unscaled(w: &Self::Slab, j: usize) -> Unscaled {
                $reader.unscaled(w, j)
            }
        }
    )*};
}

kernels! {
    /// Bytes as they are.
    q8_0::Q8_0 = Reader {
        scales: |w: &q8_0::Slab, j| widen_f16(load(w, 0), j),
        blocks: |w: &q8_0::Slab, j: usize| core::array::from_fn(|r| {
            let at = 16 + (j * MR + r) * 32;
            (load(w, at), load(w, at + 16))
        }),
        minima: |_: &q8_0::Slab, _: usize| vdupq_n_f32(0.0),
        shift: 0,
    };

    /// Signed nibbles: the file's, less 8, in the upper half of a byte.
    q4_0::Q4_0 = Reader {
        scales: |w: &q4_0::Slab, j| widen_f16(load(w, 0), j),
        blocks: |w: &q4_0::Slab, j: usize| core::array::from_fn(|r| {
            // Flipping a nibble's top bit takes 8 off, in two's complement.
            let q = veorq_u8(load(w, 16 + (j * MR + r) * 16), vdupq_n_u8(0x88));
            let high = vandq_u8(q, vdupq_n_u8(0xF0));
            (vreinterpretq_s8_u8(vshlq_n_u8::<4>(q)), vreinterpretq_s8_u8(high))
        }),
        minima: |_: &q4_0::Slab, _: usize| vdupq_n_f32(0.0),
        shift: 4,
    };

    /// Unsigned nibbles.
    q4_1::Q4_1 = Reader {
        scales: |w: &q4_1::Slab, j| widen_f16(load(w, 0), j),
        blocks: |w: &q4_1::Slab, j: usize| {
            core::array::from_fn(|r| nibbles(load(w, 32 + (j * MR + r) * 16)))
        },
        minima: |w: &q4_1::Slab, j| widen_f16(load(w, 16), j),
        shift: 0,
    };

    /// Nibbles with a fifth bit, less 16.
    q5_0::Q5_0 = Reader {
        scales: |w: &q5_0::Slab, j| widen_f16(load(w, 0), j),
        blocks: |w: &q5_0::Slab, j: usize| {
            let high = load(w, 16 + j * 16);
            core::array::from_fn(|r| {
                let (a, b) = five_bits(load(w, 48 + (j * MR + r) * 16), high, r);
                (vsubq_s8(a, vdupq_n_s8(16)), vsubq_s8(b, vdupq_n_s8(16)))
            })
        },
        minima: |_: &q5_0::Slab, _: usize| vdupq_n_f32(0.0),
        shift: 0,
    };

    /// Nibbles with a fifth bit.
    q5_1::Q5_1 = Reader {
        scales: |w: &q5_1::Slab, j| widen_f16(load(w, 0), j),
        blocks: |w: &q5_1::Slab, j: usize| {
            let high = load(w, 32 + j * 16);
            core::array::from_fn(|r| five_bits(load(w, 64 + (j * MR + r) * 16), high, r))
        },
        minima: |w: &q5_1::Slab, j| widen_f16(load(w, 16), j),
        shift: 0,
    };

    /// Unsigned nibbles, scales of scales.
    q4_k::Q4_K = Reader {
        scales: |w: &q4_k::Slab, j| k_scale(load(w, 0), 0, w.scale[j]),
        blocks: |w: &q4_k::Slab, j: usize| {
            core::array::from_fn(|r| nibbles(load(w, 80 + (j * MR + r) * 16)))
        },
        minima: |w: &q4_k::Slab, j| vnegq_f32(k_scale(load(w, 0), 1, w.minimum[j])),
        shift: 0,
    };

    /// Nibbles with a fifth bit, scales of scales.
    q5_k::Q5_K = Reader {
        scales: |w: &q5_k::Slab, j| k_scale(load(w, 0), 0, w.scale[j]),
        blocks: |w: &q5_k::Slab, j: usize| {
            let high = load(w, 80 + j * 16);
            core::array::from_fn(|r| five_bits(load(w, 208 + (j * MR + r) * 16), high, r))
        },
        minima: |w: &q5_k::Slab, j| vnegq_f32(k_scale(load(w, 0), 1, w.minimum[j])),
        shift: 0,
    };
}

/// Four of eight f16 values, each times a byte.
#[inline]
#[target_feature(enable = "neon")]
fn k_scale(f16s: uint16x8_t, j: usize, bytes: [u8; MR]) -> float32x4_t {
    let words = vcreate_u32(u64::from(u32::from_le_bytes(bytes)));
    let halfwords = vget_low_u16(vmovl_u8(vreinterpret_u8_u32(words)));
    vmulq_f32(widen_f16(f16s, j), vcvtq_f32_u32(vmovl_u16(halfwords)))
}

/// The nibbles below and the nibbles above.
#[inline]
#[target_feature(enable = "neon")]
fn nibbles(q: uint8x16_t) -> Block {
    let low = vandq_u8(q, vdupq_n_u8(0xF));
    (
        vreinterpretq_s8_u8(low),
        vreinterpretq_s8_u8(vshrq_n_u8::<4>(q)),
    )
}

/// [`nibbles`] with row `r`'s bits of a plane in front.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn five_bits(q: uint8x16_t, plane: uint8x16_t, r: usize) -> Block {
    let (low, high) = nibbles(q);
    let bit = |b: usize| {
        let set = vtstq_u8(plane, vdupq_n_u8(1 << b));
        vreinterpretq_s8_u8(vandq_u8(set, vdupq_n_u8(0x10)))
    };
    (vorrq_s8(low, bit(2 * r)), vorrq_s8(high, bit(2 * r + 1)))
}
