//! Q1_0: see [`crate::packed::q1_0`]. Nothing is multiplied: `Σ ±x` is `2 · Σ (x of a plus) − Σ x`.
//!
//! ```text
//! 4 rows, 32 weights     cmtst with 1 << (2r + h)   → for each row and half 16 masks, −1 for a plus
//! row 0  m0 m1 | x0 x1   and, and                   → x where the weight is d, else 0
//!                        saddlp, sadalp             → 8 × i16 (at most 4 · 127)
//! rows 0 1 2 3           addp, addp, addp           → two i16 a row
//!                        saddlp, sadalp of the same → twice their sum, one i32 a row
//!                        ssubw                      → less Σ x
//!                        scvtf, fmla with d_w · d_x
//! ```

use core::arch::aarch64::*;
use core::mem::offset_of;

use super::super::load::{load, settle, test_bits};
use super::{Block, QuantizedNeon, Unscaled, to_lanes, widen_f16};
use crate::activations::QuantPair;
use crate::lanes::F32x4;
use crate::packed::MR;
use crate::packed::q1_0::{Q1_0, Slab};

/// Q1_0, whose weights are signs.
impl QuantizedNeon for Q1_0 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn tile<const NR: usize>(
        group: &[Slab],
        x: &[QuantPair<NR>],
        _n_blocks: usize,
    ) -> [F32x4; NR] {
        let mut acc = [vdupq_n_f32(0.0); NR];
        let (whole, rest) = x.as_chunks::<4>();
        for (w, [a, b, c, d]) in group.iter().zip(whole) {
            file_block(w, 0, [a, b], &mut acc);
            file_block(w, 1, [c, d], &mut acc);
        }
        if let ([a, b], Some(w)) = (rest, group.get(whole.len())) {
            file_block(w, 0, [a, b], &mut acc);
        }
        acc.map(|sum| to_lanes(sum))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn unscaled(w: &Slab, j: usize) -> Unscaled {
        let d = widen_f16(load(w, 0), j / 4);
        let sign = |plus| vornq_s8(vdupq_n_s8(1), plus);
        Unscaled {
            rows: plus(w, j).map(|(a, b)| (sign(a), sign(b))),
            d: [d, d],
            m: vdupq_n_f32(0.0),
        }
    }
}

/// Whether the weights of block `b` are `d`, four rows: −1 or 0.
#[inline]
#[target_feature(enable = "neon")]
fn plus(w: &Slab, b: usize) -> [Block; MR] {
    let plane: uint8x16_t = load(w, 16 + b * 16);
    let bit = |b: usize| test_bits(plane, vdupq_n_u8(1 << b));
    core::array::from_fn(|r| (bit(2 * r), bit(2 * r + 1)))
}

/// Four blocks of 32 with a scale in common.
#[inline]
#[target_feature(enable = "neon")]
fn file_block<const NR: usize>(
    w: &Slab,
    half: usize,
    x: [&QuantPair<NR>; 2],
    acc: &mut [float32x4_t; NR],
) {
    let d = widen_f16(load(w, 0), half);
    for (p, x) in x.into_iter().enumerate() {
        for j in 0..2 {
            block(d, plus(w, 4 * half + 2 * p + j), x, j, acc);
        }
    }
}

/// A block of 32 of four rows times `NR` tokens.
#[inline]
#[target_feature(enable = "neon")]
fn block<const NR: usize>(
    d: float32x4_t,
    plus: [Block; MR],
    x: &QuantPair<NR>,
    j: usize,
    acc: &mut [float32x4_t; NR],
) {
    for t in 0..NR {
        let at = j * NR + t;
        let (x0, x1) = (load(x, at * 32), load(x, at * 32 + 16));
        let [a, b, c, e] =
            plus.map(|(m0, m1)| vpadalq_s8(vpaddlq_s8(vandq_s8(m0, x0)), vandq_s8(m1, x1)));
        let dots = vpaddq_s16(vpaddq_s16(a, b), vpaddq_s16(c, e));
        let twice = vpadalq_s16(vpaddlq_s16(dots), dots);
        let sum = vreinterpret_s16_s8(load(x, offset_of!(QuantPair<NR>, sum) + at * 8));
        let dots = vcvtq_f32_s32(vsubw_s16(twice, sum));
        acc[t] = settle(vfmaq_f32(acc[t], dots, vmulq_n_f32(d, x.d[j][t])));
    }
}
