//! Rotary position embedding: see [`crate::scalar::rope`].

use core::arch::aarch64::*;

use super::load::{load, store};
use crate::lanes::F32x4;
use crate::scalar::rope::RopeStyle;

/// See [`crate::scalar::rope::rope`].
#[target_feature(enable = "neon")]
#[allow(clippy::too_many_arguments, reason = "as the definition")]
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
    match style {
        RopeStyle::Interleaved => {
            let x = x[t..].iter().step_by(n_tokens);
            for (((out, x), cos), sin) in out.iter_mut().zip(x).zip(cos).zip(sin) {
                let x = load(x, 0);
                let cross = vmulq_f32(vrev64q_f32(x), load(sin, 0));
                let turned = vfmaq_f32(cross, x, load(cos, 0));
                store(out, 0, vmulq_n_f32(turned, scale));
            }
        }
        RopeStyle::HalfSplit => {
            let half = out.len() / 2;
            let a = x[t..].iter().step_by(n_tokens);
            let b = x[t + half * n_tokens..].iter().step_by(n_tokens);
            let (low, high) = out.split_at_mut(half);
            let out = low.iter_mut().zip(high);
            for ((((low, high), (a, b)), cos), sin) in out.zip(a.zip(b)).zip(cos).zip(sin) {
                let (a, b, c, s) = (load(a, 0), load(b, 0), load(cos, 0), load(sin, 0));
                let turned = vfmaq_f32(vmulq_f32(b, vnegq_f32(s)), a, c);
                store(low, 0, vmulq_n_f32(turned, scale));
                let turned = vfmaq_f32(vmulq_f32(a, s), b, c);
                store(high, 0, vmulq_n_f32(turned, scale));
            }
        }
    }
}
