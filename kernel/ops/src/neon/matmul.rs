//! Four rows times one or several tokens: see [`crate::scalar::matmul`].
//!
//! ```text
//! row 0  w0 w1 | x0 x1   smull  lo(w0)·lo(x0) → 8 × i16
//!                        smlal2 hi(w0)·hi(x0) → + (at most 2 · 128 · 127)
//!                        smull, smlal2 of w1, x1
//!                        saddlp, sadalp       → 4 × i32
//! rows 0 1 2 3           addp, addp, addp     → one i32 a row
//!                        scvtf, fmla with d_w · d_x
//! ```

use core::arch::aarch64::*;

use super::load::{load, settle};
use super::norm::{halve_to_four, sum_four};
use crate::activations::{FloatChunk, QuantPair};
use crate::arena::Plain;
use crate::lanes::F32x4;
use crate::packed::float::{Chunk16, Chunk32};
use crate::packed::{GROUP, q8_0};
use crate::scalar::matmul::for_tiles;

/// Sixteen weights and sixteen more: one block of one row.
type Block = (int8x16_t, int8x16_t);

/// Q8_0 rows: see [`crate::scalar::matmul::quantised`].
#[target_feature(enable = "neon")]
pub fn q8_0<const NT: usize>(
    groups: &[q8_0::Pair],
    x: &[QuantPair<NT>],
    n_blocks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let scales = |pair: &q8_0::Pair| widen_halves(load(pair, 0));
    let block = |pair: &q8_0::Pair, j: usize, r: usize| {
        let at = 16 + (j * GROUP + r) * 32;
        (load(pair, at), load(pair, at + 16))
    };
    for_tiles(
        groups,
        x,
        n_blocks.div_ceil(2),
        n_tokens,
        out,
        |group, x| tile(group, x, n_blocks, scales, block),
    );
}

/// Eight halves as floats.
#[inline]
#[target_feature(enable = "neon")]
fn widen_halves(bits: uint16x8_t) -> [float32x4_t; 2] {
    let halves = vreinterpretq_f16_u16(bits);
    [
        vcvt_f32_f16(vget_low_f16(halves)),
        vcvt_high_f32_f16(halves),
    ]
}

/// One group times `NT` tokens, for formats without a minimum.
#[inline]
#[target_feature(enable = "neon")]
fn tile<P: Plain, const NT: usize>(
    group: &[P],
    x: &[QuantPair<NT>],
    n_blocks: usize,
    scales: impl Fn(&P) -> [float32x4_t; 2],
    block: impl Fn(&P, usize, usize) -> Block,
) -> [F32x4; NT] {
    let mut acc = [vdupq_n_f32(0.0); NT];
    let whole = n_blocks / 2;
    for (w, x) in group[..whole].iter().zip(&x[..whole]) {
        let d = scales(w);
        for j in 0..2 {
            let rows = core::array::from_fn(|r| block(w, j, r));
            multiply(rows, d[j], x, j, &mut acc);
        }
    }
    if n_blocks % 2 == 1 {
        let (w, x) = (&group[whole], &x[whole]);
        let rows = core::array::from_fn(|r| block(w, 0, r));
        multiply(rows, scales(w)[0], x, 0, &mut acc);
    }
    acc.map(|sum| to_lanes(sum))
}

/// Adds block `j`'s products to the accumulators.
#[inline]
#[target_feature(enable = "neon")]
fn multiply<const NT: usize>(
    rows: [Block; GROUP],
    d: float32x4_t,
    x: &QuantPair<NT>,
    j: usize,
    acc: &mut [float32x4_t; NT],
) {
    for t in 0..NT {
        let at = (j * NT + t) * 32;
        let (x0, x1) = (load(x, at), load(x, at + 16));
        let [a, b, c, e] = rows.map(|(w0, w1)| dot(w0, w1, x0, x1));
        let dots = vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, e));
        let scale = vmulq_n_f32(d, x.d[j][t]);
        acc[t] = settle(vfmaq_f32(acc[t], vcvtq_f32_s32(dots), scale));
    }
}

/// Four partial sums of 32 products.
#[inline]
#[target_feature(enable = "neon")]
fn dot(w0: int8x16_t, w1: int8x16_t, x0: int8x16_t, x1: int8x16_t) -> int32x4_t {
    let first = vmull_s8(vget_low_s8(w0), vget_low_s8(x0));
    let first = vmlal_high_s8(first, w0, x0);
    let second = vmull_s8(vget_low_s8(w1), vget_low_s8(x1));
    let second = vmlal_high_s8(second, w1, x1);
    vpadalq_s16(vpaddlq_s16(first), second)
}

/// F32 rows: see [`crate::scalar::matmul::float`].
#[target_feature(enable = "neon")]
pub fn f32<const NT: usize>(
    groups: &[Chunk32],
    x: &[FloatChunk<NT>],
    n_chunks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let widen = |chunk: &Chunk32, r: usize| core::array::from_fn(|i| load(chunk, r * 64 + i * 16));
    for_tiles(groups, x, n_chunks, n_tokens, out, |group, x| {
        float_tile(group, x, widen)
    });
}

/// F16 rows: see [`crate::scalar::matmul::float`].
#[target_feature(enable = "neon")]
pub fn f16<const NT: usize>(
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
    for_tiles(groups, x, n_chunks, n_tokens, out, |group, x| {
        float_tile(group, x, widen)
    });
}

/// BF16 rows: see [`crate::scalar::matmul::float`].
#[target_feature(enable = "neon")]
pub fn bf16<const NT: usize>(
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
    for_tiles(groups, x, n_chunks, n_tokens, out, |group, x| {
        float_tile(group, x, widen)
    });
}

#[inline]
#[target_feature(enable = "neon")]
fn float_tile<C: Plain, const NT: usize>(
    group: &[C],
    x: &[FloatChunk<NT>],
    widen: impl Fn(&C, usize) -> [float32x4_t; 4],
) -> [F32x4; NT] {
    let mut fours = [[vdupq_n_f32(0.0); GROUP]; NT];
    for r in 0..GROUP {
        let mut lanes = [[vdupq_n_f32(0.0); 4]; NT];
        for (w, x) in group.iter().zip(x) {
            let w = widen(w, r);
            for t in 0..NT {
                for i in 0..4 {
                    lanes[t][i] = vfmaq_f32(lanes[t][i], w[i], load(x, t * 64 + i * 16));
                }
            }
        }
        for t in 0..NT {
            fours[t][r] = halve_to_four(lanes[t]);
        }
    }
    fours.map(|rows| to_lanes(sum_four(rows)))
}

#[inline]
#[target_feature(enable = "neon")]
fn to_lanes(v: float32x4_t) -> F32x4 {
    let mut lanes = F32x4::ZERO;
    super::load::store(&mut lanes, 0, v);
    lanes
}
