//! RMSNorm: see [`crate::scalar::norm`].

use core::arch::aarch64::*;

use super::load::{load, store};
use crate::float::sqrt;
use crate::lanes::F32x4;

/// See [`crate::scalar::norm::rms_norm`].
#[target_feature(enable = "neon")]
pub fn rms_norm(
    x: &[F32x4],
    n_tokens: usize,
    t: usize,
    weight: &[F32x4],
    eps: f32,
    out: &mut [F32x4],
) {
    let n = weight.len();
    let (out, rest) = out.split_at_mut(n);
    rest.fill(F32x4::ZERO);
    // Copied to `out` first: with more tokens, x is strided.
    let mut lanes = [vdupq_n_f32(0.0); 4];
    let mut values = x[t..].iter().step_by(n_tokens);
    for out in out.chunks_mut(4) {
        for (out, lane) in out.iter_mut().zip(&mut lanes) {
            let Some(x) = values.next() else { break };
            let x = load(x, 0);
            *lane = vfmaq_f32(*lane, x, x);
            store(out, 0, x);
        }
    }
    let mean = sum_lanes(lanes) / (4 * n) as f32;
    let scale = 1.0 / sqrt(mean + eps);
    for (out, weight) in out.iter_mut().zip(weight) {
        let scaled = vmulq_n_f32(load(out, 0), scale);
        store(out, 0, vmulq_f32(scaled, load(weight, 0)));
    }
}

/// The halving tree over sixteen lanes.
#[inline]
#[target_feature(enable = "neon")]
pub fn sum_lanes(lanes: [float32x4_t; 4]) -> f32 {
    let quarter = halve_to_four(lanes);
    let half = vadd_f32(vget_low_f32(quarter), vget_high_f32(quarter));
    vpadds_f32(half)
}

/// The first two levels of the tree: from sixteen lanes to four.
#[inline]
#[target_feature(enable = "neon")]
pub fn halve_to_four([a, b, c, d]: [float32x4_t; 4]) -> float32x4_t {
    vaddq_f32(vaddq_f32(a, c), vaddq_f32(b, d))
}

/// The last two levels of four trees at once.
#[inline]
#[target_feature(enable = "neon")]
pub fn sum_four([a, b, c, d]: [float32x4_t; 4]) -> float32x4_t {
    let pair = |a, b| {
        let (a, b) = (vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b));
        let (low, high) = (vzip1q_f64(a, b), vzip2q_f64(a, b));
        vaddq_f32(vreinterpretq_f32_f64(low), vreinterpretq_f32_f64(high))
    };
    vpaddq_f32(pair(a, b), pair(c, d))
}
