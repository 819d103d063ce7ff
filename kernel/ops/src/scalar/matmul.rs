//! Micro-kernels of [`MR`] rows times `NR` tokens: a GEMV with `NR` = 1, a GEMM with
//! [`TILE`](crate::activations::TILE).

use super::sum_lanes;
use crate::activations::{FloatChunk, QuantPair};
use crate::float::fma;
use crate::lanes::F32x4;
use crate::packed::float::Float;
use crate::packed::{MR, Quantized};

/// Four quantised rows times `NR` tokens: element `t` of the result has the rows' products.
///
/// One accumulator a row and token, blocks ascending:
/// `acc = fma(Σ q·x as f32, d_w · d_x, acc)`, then with a minimum `acc = fma(m_w, s_x, acc)`.
#[inline(always)] // Must take on the caller's target features.
pub fn quantized_tile<Q: Quantized, const NR: usize>(
    group: &[Q::Slab],
    x: &[QuantPair<NR>],
    n_blocks: usize,
) -> [F32x4; NR] {
    let mut acc = [F32x4::ZERO; NR];
    for (s, (w, x)) in group.iter().zip(x.chunks(Q::BLOCKS / 2)).enumerate() {
        for b in 0..Q::BLOCKS.min(n_blocks - Q::BLOCKS * s) {
            let (x, j) = (&x[b / 2], b % 2);
            let d = Q::scales(w, b);
            let m = if Q::HAS_MIN {
                Q::minima(w, b)
            } else {
                [0.0; MR]
            };
            for r in 0..MR {
                let q = Q::quants(w, b, r);
                for t in 0..NR {
                    let dot = Q::dot(w, b, r, &q, &x.q[j][t]) as f32;
                    let sum = fma(dot, d[r] * x.d[j][t], acc[t].0[r]);
                    acc[t].0[r] = if Q::HAS_MIN {
                        fma(m[r], x.s[j][t], sum)
                    } else {
                        sum
                    };
                }
            }
        }
    }
    acc
}

/// Four quantised rows times `NR` tokens, both as floats: the weights are made floats block by block and
/// then multiplied as [`float_tile`] does it, to the bit.
///
/// [`Quantized::dequantize`] loses nothing before it adds a minimum: scale and integer together have no
/// more bits than an f32. A fused multiply-add therefore gives the same weight.
#[inline(always)] // Must take on the caller's target features.
pub fn dequantized_tile<Q: Quantized, const NR: usize>(
    group: &[Q::Slab],
    x: &[FloatChunk<NR>],
    n_blocks: usize,
) -> [F32x4; NR] {
    let mut out = [F32x4::ZERO; NR];
    for r in 0..MR {
        let mut lanes = [[0.0; 16]; NR];
        for b in 0..n_blocks {
            let w = Q::dequantize(&group[b / Q::BLOCKS], b % Q::BLOCKS, r);
            for (w, x) in w.chunks_exact(16).zip(&x[2 * b..2 * b + 2]) {
                for t in 0..NR {
                    for i in 0..16 {
                        lanes[t][i] = fma(w[i], x.x[t][i], lanes[t][i]);
                    }
                }
            }
        }
        for t in 0..NR {
            out[t].0[r] = sum_lanes(lanes[t]);
        }
    }
    out
}

/// Four float rows times `NR` tokens: 16 lanes of fma, columns ascending, then the halving tree.
#[inline(always)] // Must take on the caller's target features.
pub fn float_tile<F: Float, const NR: usize>(
    group: &[F::Chunk],
    x: &[FloatChunk<NR>],
) -> [F32x4; NR] {
    let mut out = [F32x4::ZERO; NR];
    for r in 0..MR {
        let mut lanes = [[0.0; 16]; NR];
        for (w, x) in group.iter().zip(x) {
            let w = F::widen(w, r);
            for t in 0..NR {
                for i in 0..16 {
                    lanes[t][i] = fma(w[i], x.x[t][i], lanes[t][i]);
                }
            }
        }
        for t in 0..NR {
            out[t].0[r] = sum_lanes(lanes[t]);
        }
    }
    out
}

/// [`quantized_tile`] for every group of `groups` and every tile of `x`; `out` is the rows' part of a panel
/// of `n_tokens` tokens.
#[inline(always)] // Must take on the caller's target features.
pub fn gemm_quantized<Q: Quantized, const NR: usize>(
    groups: &[Q::Slab],
    x: &[QuantPair<NR>],
    n_blocks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let groups = groups.chunks_exact(n_blocks.div_ceil(Q::BLOCKS));
    for (group, out) in groups.zip(out.chunks_exact_mut(n_tokens)) {
        let tiles = x.chunks_exact(n_blocks.div_ceil(2));
        for (x, out) in tiles.zip(out.chunks_mut(NR)) {
            let products = quantized_tile::<Q, NR>(group, x, n_blocks);
            out.copy_from_slice(&products[..out.len()]);
        }
    }
}

/// [`dequantized_tile`] for every group of `groups` and every tile of `x`; `out` is the rows' part of a panel of
/// `n_tokens` tokens.
#[inline(always)] // Must take on the caller's target features.
pub fn gemm_dequantized<Q: Quantized, const NR: usize>(
    groups: &[Q::Slab],
    x: &[FloatChunk<NR>],
    n_blocks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let groups = groups.chunks_exact(n_blocks.div_ceil(Q::BLOCKS));
    for (group, out) in groups.zip(out.chunks_exact_mut(n_tokens)) {
        for (x, out) in x.chunks_exact(2 * n_blocks).zip(out.chunks_mut(NR)) {
            let products = dequantized_tile::<Q, NR>(group, x, n_blocks);
            out.copy_from_slice(&products[..out.len()]);
        }
    }
}

/// [`float_tile`] for every group of `groups` and every tile of `x`, `n_chunks` chunks each; `out` is the
/// rows' part of a panel of `n_tokens` tokens.
#[inline(always)] // Must take on the caller's target features.
pub fn gemm_float<F: Float, const NR: usize>(
    groups: &[F::Chunk],
    x: &[FloatChunk<NR>],
    n_chunks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let groups = groups.chunks_exact(n_chunks);
    for (group, out) in groups.zip(out.chunks_exact_mut(n_tokens)) {
        for (x, out) in x.chunks_exact(n_chunks).zip(out.chunks_mut(NR)) {
            let products = float_tile::<F, NR>(group, x);
            out.copy_from_slice(&products[..out.len()]);
        }
    }
}
