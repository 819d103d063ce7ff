//! Activations to int8.

use crate::activations::{FloatChunk, QuantPair};
use crate::lanes::F32x4;

/// Quantises the plain vector `x`, `n_blocks` blocks of 32, into slot `t` of `out`.
///
/// `d = absmax / 127` and `q = round(x · (1 / d))`, ties to even. A block whose `d` is no normal
/// number is all zeros; NaN or infinity makes `d` so, and the products NaN.
#[inline(always)] // Must take on the caller's target features.
pub fn quantize<const NR: usize>(
    x: &[F32x4],
    n_blocks: usize,
    out: &mut [QuantPair<NR>],
    t: usize,
) {
    for (b, x) in x.chunks_exact(8).take(n_blocks).enumerate() {
        let (d, inverse) = scale_and_inverse(largest_bits(x.iter()));
        let pair = &mut out[b / 2];
        let mut sum = 0;
        for (g, lanes) in x.iter().enumerate() {
            for i in 0..4 {
                let q = round_to_i8(lanes.0[i] * inverse);
                pair.q[b % 2][t][4 * g + i] = q;
                sum += i32::from(q);
            }
        }
        pair.d[b % 2][t] = d;
        pair.s[b % 2][t] = d * sum as f32;
        pair.sum[b % 2][t] = [sum as i16; 4];
    }
}

/// The bits of the largest magnitude. As integers, magnitudes order like numbers, with infinity and NaN
/// on top.
#[inline(always)] // Must take on the caller's target features.
pub fn largest_bits<'x>(x: impl Iterator<Item = &'x F32x4>) -> u32 {
    let mut bits = 0;
    for v in x.flat_map(|lanes| lanes.0) {
        bits = bits.max(v.to_bits() & 0x7FFF_FFFF);
    }
    bits
}

/// `d = absmax / 127` and `1 / d`, or zeros where `d` is no normal number.
#[inline(always)] // Must take on the caller's target features.
pub fn scale_and_inverse(largest_bits: u32) -> (f32, f32) {
    let d = f32::from_bits(largest_bits) / 127.0;
    if d < f32::MIN_POSITIVE {
        (0.0, 0.0)
    } else {
        (d, 1.0 / d)
    }
}

/// The integer nearest to `v`, ties to even; NaN gives 0. `v` lies within ±127.5.
#[inline(always)] // Must take on the caller's target features.
pub fn round_to_i8(v: f32) -> i8 {
    let v = if v.is_nan() { 0.0 } else { v };
    (v + crate::scalar::exp::ROUND).to_bits() as i8
}

/// Copies the plain vector `x` into slot `t` of `out`, sixteen values a chunk.
#[inline(always)] // Must take on the caller's target features.
pub fn copy_floats<const NR: usize>(x: &[F32x4], out: &mut [FloatChunk<NR>], t: usize) {
    for (x, chunk) in x.chunks_exact(4).zip(out) {
        for (lanes, to) in x.iter().zip(chunk.x[t].chunks_exact_mut(4)) {
            to.copy_from_slice(&lanes.0);
        }
    }
}
