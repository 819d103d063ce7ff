//! Four rows times one or several tokens.

use super::sum_lanes;
use crate::activations::{FloatChunk, QuantPair};
use crate::float::fma;
use crate::lanes::F32x4;
use crate::packed::float::Float;
use crate::packed::{GROUP, Quantised};

/// Four quantised rows times `NT` tokens: element `t` of the result has the rows' products.
///
/// One accumulator a row and token, blocks ascending:
/// `acc = fma(Σ q·x as f32, d_w · d_x, acc)`, then with a minimum `acc = fma(m_w, s_x, acc)`.
#[inline(always)] // Must take on the caller's target features.
pub fn quantised<Q: Quantised, const NT: usize>(
    group: &[Q::Slab],
    x: &[QuantPair<NT>],
    n_blocks: usize,
) -> [F32x4; NT] {
    let mut acc = [F32x4::ZERO; NT];
    for (s, (w, x)) in group.iter().zip(x.chunks(Q::BLOCKS / 2)).enumerate() {
        for b in 0..Q::BLOCKS.min(n_blocks - Q::BLOCKS * s) {
            let (x, j) = (&x[b / 2], b % 2);
            let d = Q::scales(w, b);
            let m = if Q::HAS_MIN {
                Q::minima(w, b)
            } else {
                [0.0; GROUP]
            };
            for t in 0..NT {
                for r in 0..GROUP {
                    let dot = Q::dot(w, b, r, &x.q[j][t]) as f32;
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

/// Four float rows times `NT` tokens: 16 lanes of fma, columns ascending, then the halving tree.
#[inline(always)] // Must take on the caller's target features.
pub fn float<F: Float, const NT: usize>(group: &[F::Chunk], x: &[FloatChunk<NT>]) -> [F32x4; NT] {
    let mut out = [F32x4::ZERO; NT];
    for r in 0..GROUP {
        let mut lanes = [[0.0; 16]; NT];
        for (w, x) in group.iter().zip(x) {
            let w = F::widen(w, r);
            for t in 0..NT {
                for i in 0..16 {
                    lanes[t][i] = fma(w[i], x.x[t][i], lanes[t][i]);
                }
            }
        }
        for t in 0..NT {
            out[t].0[r] = sum_lanes(lanes[t]);
        }
    }
    out
}

/// Runs `tile` over every group of rows and every tile of tokens.
///
/// A group is `w_len` elements of `groups` and a tile is `x_len` elements of `x`. `out` is the rows'
/// part of a panel of `n_tokens` tokens.
#[inline(always)] // Must take on the caller's target features.
pub fn for_tiles<W, X, const NT: usize>(
    groups: &[W],
    w_len: usize,
    x: &[X],
    x_len: usize,
    n_tokens: usize,
    out: &mut [F32x4],
    tile: impl Fn(&[W], &[X]) -> [F32x4; NT],
) {
    for (group, out) in groups
        .chunks_exact(w_len)
        .zip(out.chunks_exact_mut(n_tokens))
    {
        for (x, out) in x.chunks_exact(x_len).zip(out.chunks_mut(NT)) {
            let products = tile(group, x);
            out.copy_from_slice(&products[..out.len()]);
        }
    }
}

/// [`quantised`] for every group and tile.
#[inline(always)] // Must take on the caller's target features.
pub fn quantised_rows<Q: Quantised, const NT: usize>(
    groups: &[Q::Slab],
    x: &[QuantPair<NT>],
    n_blocks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let (w_len, x_len) = (n_blocks.div_ceil(Q::BLOCKS), n_blocks.div_ceil(2));
    for_tiles(groups, w_len, x, x_len, n_tokens, out, |group, x| {
        quantised::<Q, NT>(group, x, n_blocks)
    });
}

/// [`float`] for every group and tile of `n_chunks` chunks.
#[inline(always)] // Must take on the caller's target features.
pub fn float_rows<F: Float, const NT: usize>(
    groups: &[F::Chunk],
    x: &[FloatChunk<NT>],
    n_chunks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    for_tiles(groups, n_chunks, x, n_chunks, n_tokens, out, |group, x| {
        float::<F, NT>(group, x)
    });
}
