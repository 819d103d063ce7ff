//! Float formats: see [`crate::scalar::matmul::float`].

use core::arch::aarch64::*;

use super::super::load::load;
use super::super::norm::{halve_to_four, sum_four};
use super::{for_tiles, to_lanes, widen_half};
use crate::activations::FloatChunk;
use crate::arena::Plain;
use crate::lanes::F32x4;
use crate::packed::GROUP;
use crate::packed::float::{Bf16, Chunk16, Chunk32, F16, F32, Float};

/// A format with a twin of [`crate::scalar::matmul::float_rows`].
pub trait FloatNeon: Float {
    /// Multiplies with float activations.
    ///
    /// # Safety
    /// The core has AdvSIMD.
    unsafe fn mul<const NT: usize>(
        groups: &[Self::Chunk],
        x: &[FloatChunk<NT>],
        n_chunks: usize,
        n_tokens: usize,
        out: &mut [F32x4],
    );
}

impl FloatNeon for F32 {
    #[target_feature(enable = "neon")]
    unsafe fn mul<const NT: usize>(
        groups: &[Chunk32],
        x: &[FloatChunk<NT>],
        n_chunks: usize,
        n_tokens: usize,
        out: &mut [F32x4],
    ) {
        let widen =
            |chunk: &Chunk32, r: usize| core::array::from_fn(|i| load(chunk, r * 64 + i * 16));
        for_tiles(groups, n_chunks, x, n_chunks, n_tokens, out, |group, x| {
            float_tile(group, x, widen)
        });
    }
}

impl FloatNeon for F16 {
    #[target_feature(enable = "neon")]
    unsafe fn mul<const NT: usize>(
        groups: &[Chunk16],
        x: &[FloatChunk<NT>],
        n_chunks: usize,
        n_tokens: usize,
        out: &mut [F32x4],
    ) {
        let widen = |chunk: &Chunk16, r: usize| {
            let [a, b] = widen_halves(load(chunk, r * 32));
            let [c, d] = widen_halves(load(chunk, r * 32 + 16));
            [a, b, c, d]
        };
        for_tiles(groups, n_chunks, x, n_chunks, n_tokens, out, |group, x| {
            float_tile(group, x, widen)
        });
    }
}

impl FloatNeon for Bf16 {
    #[target_feature(enable = "neon")]
    unsafe fn mul<const NT: usize>(
        groups: &[Chunk16],
        x: &[FloatChunk<NT>],
        n_chunks: usize,
        n_tokens: usize,
        out: &mut [F32x4],
    ) {
        let widen_eight = |bits: uint16x8_t| {
            [
                vreinterpretq_f32_u32(vshll_n_u16::<16>(vget_low_u16(bits))),
                vreinterpretq_f32_u32(vshll_high_n_u16::<16>(bits)),
            ]
        };
        let widen = |chunk: &Chunk16, r: usize| {
            let [a, b] = widen_eight(load(chunk, r * 32));
            let [c, d] = widen_eight(load(chunk, r * 32 + 16));
            [a, b, c, d]
        };
        for_tiles(groups, n_chunks, x, n_chunks, n_tokens, out, |group, x| {
            float_tile(group, x, widen)
        });
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn float_tile<C: Plain, const NT: usize>(
    group: &[C],
    x: &[FloatChunk<NT>],
    widen: impl Fn(&C, usize) -> [float32x4_t; 4],
) -> [F32x4; NT] {
    // Sixteen accumulators: one row of four tokens, or four rows of one, which share the loads of x.
    let at_once = GROUP / NT;
    let mut fours = [[vdupq_n_f32(0.0); GROUP]; NT];
    for first in (0..GROUP).step_by(at_once) {
        let mut lanes = [[vdupq_n_f32(0.0); 4]; GROUP];
        for (w, x) in group.iter().zip(x) {
            for r in 0..at_once {
                let w = widen(w, first + r);
                for t in 0..NT {
                    let lanes = &mut lanes[r * NT + t];
                    for i in 0..4 {
                        lanes[i] = vfmaq_f32(lanes[i], w[i], load(x, t * 64 + i * 16));
                    }
                }
            }
        }
        for r in 0..at_once {
            for t in 0..NT {
                fours[t][first + r] = halve_to_four(lanes[r * NT + t]);
            }
        }
    }
    fours.map(|rows| to_lanes(sum_four(rows)))
}

/// Eight halves as floats.
#[inline]
#[target_feature(enable = "neon")]
fn widen_halves(bits: uint16x8_t) -> [float32x4_t; 2] {
    [widen_half(bits, 0), widen_half(bits, 1)]
}
