//! Rotary position embedding (Su et al. 2021, arXiv:2104.09864).

use crate::float::fma;
use crate::lanes::F32x4;

/// Which values of a head are rotated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeStyle {
    /// `2i` and `2i + 1`: llama, whose q and k rows are permuted for it in a GGUF.
    Interleaved,
    /// `i` and `i + head_dim / 2`: qwen2, qwen3.
    HalfSplit,
}

/// Rotates one head of token `t` out of a panel and scales it.
///
/// A pair `(a, b)` with angle θ becomes `(fma(a, cos θ, b · −sin θ), fma(b, cos θ, a · sin θ))`,
/// each times `scale`. `x` is the head's part of the panel, `cos` and `sin` are
/// `head_dim` values: for the interleaved style each cosine twice and the sines as `−s, s`, for
/// the half-split style cosines and sines of the pairs in their first halves. `out` is the head as a
/// plain vector.
#[inline(always)] // Must take on the caller's target features.
#[allow(
    clippy::too_many_arguments,
    reason = "one head, one angle table, one place to put it"
)]
pub fn rope(
    style: RopeStyle,
    x: &[F32x4],
    n_tokens: usize,
    t: usize,
    cos: &[F32x4],
    sin: &[F32x4],
    scale: f32,
    out: &mut [F32x4],
) {
    let n = out.len();
    match style {
        RopeStyle::Interleaved => {
            for g in 0..n {
                let x = x[g * n_tokens + t].0;
                let swapped = [x[1], x[0], x[3], x[2]];
                for i in 0..4 {
                    let cross = swapped[i] * sin[g].0[i];
                    out[g].0[i] = fma(x[i], cos[g].0[i], cross) * scale;
                }
            }
        }
        RopeStyle::HalfSplit => {
            let half = n / 2;
            for g in 0..half {
                let a = x[g * n_tokens + t].0;
                let b = x[(g + half) * n_tokens + t].0;
                for i in 0..4 {
                    let (c, s) = (cos[g].0[i], sin[g].0[i]);
                    out[g].0[i] = fma(a[i], c, b[i] * -s) * scale;
                    out[g + half].0[i] = fma(b[i], c, a[i] * s) * scale;
                }
            }
        }
    }
}
