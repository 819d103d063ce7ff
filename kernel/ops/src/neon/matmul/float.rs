//! Float formats: see [`crate::scalar::matmul::float_tile`].

use core::arch::aarch64::*;

use super::super::load::load;
use super::super::norm::{halve_to_four, sum_four};
use super::{for_tiles, to_lanes, widen_f16};
use crate::activations::FloatChunk;
use crate::lanes::F32x4;
use crate::packed::MR;
use crate::packed::float::{Bf16, Chunk16, Chunk32, F16, F32, Float};

/// A format with a twin of [`crate::scalar::matmul::gemm_float`].
pub trait FloatNeon: Float {
    /// The sixteen weights of row `r`.
    ///
    /// # Safety
    /// The core has AdvSIMD.
    unsafe fn row(chunk: &Self::Chunk, r: usize) -> [float32x4_t; 4];
}

impl FloatNeon for F32 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn row(chunk: &Chunk32, r: usize) -> [float32x4_t; 4] {
        core::array::from_fn(|i| load(chunk, r * 64 + i * 16))
    }
}

impl FloatNeon for F16 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn row(chunk: &Chunk16, r: usize) -> [float32x4_t; 4] {
        widen(chunk, r, |bits| [widen_f16(bits, 0), widen_f16(bits, 1)])
    }
}

impl FloatNeon for Bf16 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn row(chunk: &Chunk16, r: usize) -> [float32x4_t; 4] {
        widen(chunk, r, |bits| {
            [
                vreinterpretq_f32_u32(vshll_n_u16::<16>(vget_low_u16(bits))),
                vreinterpretq_f32_u32(vshll_high_n_u16::<16>(bits)),
            ]
        })
    }
}

/// The sixteen weights of row `r`, by eight.
#[inline]
#[target_feature(enable = "neon")]
fn widen(
    chunk: &Chunk16,
    r: usize,
    eight: impl Fn(uint16x8_t) -> [float32x4_t; 2],
) -> [float32x4_t; 4] {
    let ([a, b], [c, d]) = (eight(load(chunk, r * 32)), eight(load(chunk, r * 32 + 16)));
    [a, b, c, d]
}

/// See [`crate::scalar::matmul::gemm_float`].
#[target_feature(enable = "neon")]
pub fn gemm_float<F: FloatNeon, const NR: usize>(
    groups: &[F::Chunk],
    x: &[FloatChunk<NR>],
    n_chunks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    for_tiles(groups, n_chunks, x, n_chunks, n_tokens, out, |group, x| {
        float_tile::<F, NR>(group, x)
    });
}

#[inline]
#[target_feature(enable = "neon")]
fn float_tile<F: FloatNeon, const NR: usize>(
    group: &[F::Chunk],
    x: &[FloatChunk<NR>],
) -> [F32x4; NR] {
    // Sixteen accumulators: one row of four tokens, or four rows of one, which share the loads of x.
    let at_once = MR / NR;
    let mut fours = [[vdupq_n_f32(0.0); MR]; NR];
    for first in (0..MR).step_by(at_once) {
        let mut lanes = [[vdupq_n_f32(0.0); 4]; MR];
        for (w, x) in group.iter().zip(x) {
            for r in 0..at_once {
                // SAFETY: whoever calls this function has AdvSIMD.
                let w = unsafe { F::row(w, first + r) };
                for t in 0..NR {
                    let lanes = &mut lanes[r * NR + t];
                    for i in 0..4 {
                        lanes[i] = vfmaq_f32(lanes[i], w[i], load(x, t * 64 + i * 16));
                    }
                }
            }
        }
        for r in 0..at_once {
            for t in 0..NR {
                fours[t][first + r] = halve_to_four(lanes[r * NR + t]);
            }
        }
    }
    fours.map(|rows| to_lanes(sum_four(rows)))
}
