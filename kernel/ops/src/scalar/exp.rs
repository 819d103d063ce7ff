//! `exp` and what is made of it.
//!
//! `exp(x) = 2ⁿ · p(r)` with `n = round(x · log₂e)` and `r = x − n · ln 2` in two parts (Cody and
//! Waite); `p` is a polynomial of degree 6 whose first two coefficients are 1 and whose others
//! minimise the largest relative error over `|r| ≤ ln 2 / 2` (3.6·10⁻⁹ before rounding). Arguments
//! outside of [`MIN`] to [`MAX`] are taken as these.

use crate::float::fma;

/// Smallest argument: the result is still a normal number.
pub const MIN: f32 = -87.0;
/// Largest argument: the result is still finite.
pub const MAX: f32 = 88.0;

/// Adding it leaves the nearest integer, ties to even, in the low mantissa bits: 1.5 · 2²³.
pub const ROUND: f32 = 12_582_912.0;
/// ln 2 without its last bits, so that multiples of it are exact.
pub const LN2_HIGH: f32 = 355.0 / 512.0;
/// What [`LN2_HIGH`] lacks.
pub const LN2_LOW: f32 = -2.121_944_4e-4;
/// Coefficients from the sixth power down to the square.
pub const POLYNOMIAL: [f32; 5] = [
    1.381_453_9e-3,
    8.368_745e-3,
    4.166_839e-2,
    1.666_652_1e-1,
    4.999_999_4e-1,
];

/// `eˣ`. A NaN stays one.
#[inline(always)] // Must take on the caller's target features.
pub fn exp(x: f32) -> f32 {
    let x = if x < MIN { MIN } else { x };
    let x = if x > MAX { MAX } else { x };
    let shifted = fma(x, core::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fma(n, -LN2_HIGH, x);
    let r = fma(n, -LN2_LOW, r);
    let mut p = POLYNOMIAL[0];
    for c in &POLYNOMIAL[1..] {
        p = fma(p, r, *c);
    }
    p = fma(p, r, 1.0);
    p = fma(p, r, 1.0);
    // The low bits of `shifted` are n: add them to the exponent.
    f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// `x / (1 + e⁻ˣ)`.
#[inline(always)] // Must take on the caller's target features.
pub fn silu(x: f32) -> f32 {
    x / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_near_the_true_value() {
        let mut worst: f64 = 0.0;
        for i in -870_000..=880_000 {
            let x = i as f32 * 1e-4;
            let truth = f64::from(x).exp();
            worst = worst.max(((f64::from(exp(x)) - truth) / truth).abs());
        }
        assert!(worst < 1.2e-7, "{worst}");
    }

    #[test]
    fn exp_at_the_edges() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-1e30), exp(MIN));
        assert_eq!(exp(f32::NEG_INFINITY), exp(MIN));
        assert_eq!(exp(f32::INFINITY), exp(MAX));
        assert!(exp(MIN).is_normal() && exp(MAX).is_finite());
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn silu_goes_to_zero_and_to_x() {
        assert_eq!(silu(0.0), 0.0);
        assert_eq!(silu(50.0), 50.0);
        assert!(silu(-80.0).abs() < 1e-30);
        assert!((silu(1.0) - 0.731_058_6).abs() < 1e-6);
    }
}
