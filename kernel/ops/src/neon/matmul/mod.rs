//! `MR` rows times `NR` tokens: see [`crate::scalar::matmul`].
//!
//! ```text
//! row 0  w0 w1 | x0 x1   smull  lo(w0)·lo(x0) → 8 × i16
//!                        smlal2 hi(w0)·hi(x0) → + (at most 2 · 128 · 127)
//!                        smull, smlal2 of w1, x1
//!                        saddlp, sadalp       → 4 × i32
//! rows 0 1 2 3           addp, addp, addp     → one i32 a row
//!                        scvtf, fmla with d_w · d_x
//! ```

mod dequantize;
mod float;
mod formats;
mod q1_0;
mod q6_k;

use core::arch::aarch64::*;

use self::dequantize::Unscaled;
use super::load::{load, settle};
use crate::activations::QuantPair;
use crate::lanes::F32x4;
use crate::packed::{MR, Quantized};

pub use dequantize::gemm_dequantized;
pub use float::{FloatNeon, gemm_float};

/// A format with twins of [`crate::scalar::matmul::gemm_quantized`] and
/// [`crate::scalar::matmul::gemm_dequantized`].
pub trait QuantizedNeon: Quantized {
    /// One group times `NR` tokens, quantised.
    ///
    /// # Safety
    /// The core has AdvSIMD.
    unsafe fn tile<const NR: usize>(
        group: &[Self::Slab],
        x: &[QuantPair<NR>],
        n_blocks: usize,
    ) -> [F32x4; NR];

    /// Block `j` for the dequantize kernels.
    ///
    /// # Safety
    /// The core has AdvSIMD.
    unsafe fn unscaled(w: &Self::Slab, j: usize) -> Unscaled;
}

/// See [`crate::scalar::matmul::gemm_quantized`].
#[target_feature(enable = "neon")]
pub fn gemm_quantized<Q: QuantizedNeon, const NR: usize>(
    groups: &[Q::Slab],
    x: &[QuantPair<NR>],
    n_blocks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let (w_len, x_len) = (n_blocks.div_ceil(Q::BLOCKS), n_blocks.div_ceil(2));
    for_tiles(groups, w_len, x, x_len, n_tokens, out, |group, x| {
        // SAFETY: whoever calls this function has AdvSIMD.
        unsafe { Q::tile(group, x, n_blocks) }
    });
}

/// Sixteen weights and sixteen more: one block of one row.
type Block = (int8x16_t, int8x16_t);

/// What a kernel needs to know of a slab.
struct Reader<S, B, M> {
    /// `d` of block `j`, four rows.
    scales: S,
    /// The integers of block `j`, four rows.
    blocks: B,
    /// `m` of block `j`, four rows, for formats with a minimum.
    minima: M,
    /// How far the integers are shifted to the left of their values.
    shift: u32,
}

impl<S, B, M> Reader<S, B, M> {
    /// Block `j` for the dequantize kernels.
    #[inline]
    #[target_feature(enable = "neon")]
    fn unscaled<W>(&self, w: &W, j: usize) -> Unscaled
    where
        S: Fn(&W, usize) -> float32x4_t,
        B: Fn(&W, usize) -> [Block; MR],
        M: Fn(&W, usize) -> float32x4_t,
    {
        let d = (self.scales)(w, j);
        let d = if self.shift == 4 {
            vmulq_n_f32(d, 1.0 / 16.0)
        } else {
            d
        };
        Unscaled {
            rows: (self.blocks)(w, j),
            d: [d, d],
            m: (self.minima)(w, j),
        }
    }
}

/// Runs `tile` over every group of rows and every tile of tokens.
///
/// A group is `w_len` elements of `groups` and a tile is `x_len` elements of `x`. `out` is the rows'
/// part of a panel of `n_tokens` tokens.
#[inline]
#[target_feature(enable = "neon")]
fn for_tiles<W, X, const NR: usize>(
    groups: &[W],
    w_len: usize,
    x: &[X],
    x_len: usize,
    n_tokens: usize,
    out: &mut [F32x4],
    tile: impl Fn(&[W], &[X]) -> [F32x4; NR],
) {
    for (group, out) in groups
        .chunks_exact(w_len)
        .zip(out.chunks_exact_mut(n_tokens))
    {
        for (x, out) in x.chunks_exact(x_len).zip(out.chunks_mut(NR)) {
            let products = tile(group, x);
            // A whole tile is stored from registers, a part by a call.
            match out.as_mut_array::<NR>() {
                Some(out) => *out = products,
                None => out.copy_from_slice(&products[..out.len()]),
            }
        }
    }
}

/// Four of eight f16 values as f32.
#[inline]
#[target_feature(enable = "neon")]
fn widen_f16(bits: uint16x8_t, j: usize) -> float32x4_t {
    let f16s = vreinterpretq_f16_u16(bits);
    if j == 0 {
        vcvt_f32_f16(vget_low_f16(f16s))
    } else {
        vcvt_high_f32_f16(f16s)
    }
}

/// One group times `NR` tokens.
#[inline]
#[target_feature(enable = "neon")]
fn tile<Q, S, B, M, const NR: usize>(
    group: &[Q::Slab],
    x: &[QuantPair<NR>],
    n_blocks: usize,
    reader: &Reader<S, B, M>,
) -> [F32x4; NR]
where
    Q: Quantized,
    S: Fn(&Q::Slab, usize) -> float32x4_t,
    B: Fn(&Q::Slab, usize) -> [Block; MR],
    M: Fn(&Q::Slab, usize) -> float32x4_t,
{
    let mut acc = [vdupq_n_f32(0.0); NR];
    let mut block = |w: &Q::Slab, b: usize, x: &QuantPair<NR>| {
        let (d, rows, j) = ((reader.scales)(w, b), (reader.blocks)(w, b), b % 2);
        for t in 0..NR {
            let at = (j * NR + t) * 32;
            let (x0, x1) = (load(x, at), load(x, at + 16));
            let [a, b, c, e] = rows.map(|(w0, w1)| dot(w0, w1, x0, x1));
            let dots = vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, e));
            let dots = if reader.shift == 4 {
                vshrq_n_s32::<4>(dots)
            } else {
                dots
            };
            let scale = vmulq_n_f32(d, x.d[j][t]);
            acc[t] = settle(vfmaq_f32(acc[t], vcvtq_f32_s32(dots), scale));
        }
        if Q::HAS_MIN {
            let m = (reader.minima)(w, b);
            for t in 0..NR {
                acc[t] = vfmaq_n_f32(acc[t], m, x.s[j][t]);
            }
        }
    };
    let whole = n_blocks / Q::BLOCKS;
    for (w, x) in group[..whole].iter().zip(x.chunks_exact(Q::BLOCKS / 2)) {
        for (p, x) in x.iter().enumerate() {
            block(w, 2 * p, x);
            block(w, 2 * p + 1, x);
        }
    }
    if whole < group.len() {
        block(&group[whole], 0, &x[whole]);
    }
    acc.map(|sum| to_lanes(sum))
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

#[inline]
#[target_feature(enable = "neon")]
fn to_lanes(v: float32x4_t) -> F32x4 {
    let mut lanes = F32x4::ZERO;
    super::load::store(&mut lanes, 0, v);
    lanes
}
