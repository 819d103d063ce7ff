//! RMSNorm (Zhang and Sennrich 2019, arXiv:1910.07467).

use super::sum_lanes;
use crate::float::{fma, sqrt};
use crate::lanes::F32x4;

/// `out_i = x_i · (1 / √(mean(x²) + eps)) · w_i` for token `t` of a panel of `n_tokens`.
///
/// The squares are summed in 16 lanes of fma. `weight` has the vector's length in lanes of four;
/// `out`, a plain vector, may be longer and is filled up with zeros.
#[inline(always)] // Must take on the caller's target features.
pub fn rms_norm(
    x: &[F32x4],
    n_tokens: usize,
    t: usize,
    weight: &[F32x4],
    eps: f32,
    out: &mut [F32x4],
) {
    let n = weight.len();
    let mut lanes = [0.0; 16];
    for g in 0..n {
        let x = x[g * n_tokens + t].0;
        for i in 0..4 {
            let lane = &mut lanes[g % 4 * 4 + i];
            *lane = fma(x[i], x[i], *lane);
        }
    }
    let mean = sum_lanes(lanes) / (4 * n) as f32;
    let scale = 1.0 / sqrt(mean + eps);
    for g in 0..n {
        let x = x[g * n_tokens + t].0;
        for i in 0..4 {
            out[g].0[i] = x[i] * scale * weight[g].0[i];
        }
    }
    out[n..].fill(F32x4::ZERO);
}
