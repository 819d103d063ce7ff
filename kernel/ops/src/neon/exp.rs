//! Four exponentials at a time: see [`crate::scalar::exp`].

use core::arch::aarch64::*;

use crate::scalar::exp::{LN2_HIGH, LN2_LOW, MAX, MIN, POLYNOMIAL, ROUND};

/// `eˣ`
#[inline]
#[target_feature(enable = "neon")]
pub fn exp(x: float32x4_t) -> float32x4_t {
    let x = vmaxq_f32(x, vdupq_n_f32(MIN));
    let x = vminq_f32(x, vdupq_n_f32(MAX));
    let round = vdupq_n_f32(ROUND);
    let shifted = vfmaq_f32(round, x, vdupq_n_f32(core::f32::consts::LOG2_E));
    let n = vsubq_f32(shifted, round);
    let r = vfmaq_f32(x, n, vdupq_n_f32(-LN2_HIGH));
    let r = vfmaq_f32(r, n, vdupq_n_f32(-LN2_LOW));
    let mut p = vdupq_n_f32(POLYNOMIAL[0]);
    for c in &POLYNOMIAL[1..] {
        p = vfmaq_f32(vdupq_n_f32(*c), p, r);
    }
    let one = vdupq_n_f32(1.0);
    p = vfmaq_f32(one, p, r);
    p = vfmaq_f32(one, p, r);
    let exponent = vshlq_n_u32::<23>(vreinterpretq_u32_f32(shifted));
    vreinterpretq_f32_u32(vaddq_u32(vreinterpretq_u32_f32(p), exponent))
}

/// `x / (1 + e⁻ˣ)`
#[inline]
#[target_feature(enable = "neon")]
pub fn silu(x: float32x4_t) -> float32x4_t {
    vdivq_f32(x, vaddq_f32(vdupq_n_f32(1.0), exp(vnegq_f32(x))))
}
