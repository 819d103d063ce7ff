//! Activations to int8: see [`crate::scalar::quantize`].

use core::arch::aarch64::*;
use core::mem::offset_of;

use super::load::{load, store};
use crate::activations::QuantPair;
use crate::lanes::F32x4;
use crate::scalar::quantize::scale_and_inverse;

/// See [`crate::scalar::quantize::quantize`].
#[target_feature(enable = "neon")]
pub fn quantize<const NR: usize>(
    x: &[F32x4],
    n_blocks: usize,
    out: &mut [QuantPair<NR>],
    t: usize,
) {
    let (blocks, _) = x.as_chunks::<8>();
    let mut blocks = blocks[..n_blocks].iter();
    for pair in out {
        for j in 0..2 {
            let Some(x) = blocks.next() else { return };
            block(x, pair, j, t);
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn block<const NR: usize>(x: &[F32x4; 8], pair: &mut QuantPair<NR>, j: usize, t: usize) {
    let x: [float32x4_t; 8] = core::array::from_fn(|i| load(&x[i], 0));
    let magnitude = |i: usize| vreinterpretq_u32_f32(vabsq_f32(x[i]));
    let mut bits = magnitude(0);
    for i in 1..8 {
        bits = vmaxq_u32(bits, magnitude(i));
    }
    let (d, inverse) = scale_and_inverse(vmaxvq_u32(bits));
    let round = |i: usize| vreinterpretq_s16_s32(vcvtnq_s32_f32(vmulq_n_f32(x[i], inverse)));
    let eight = |i: usize| vreinterpretq_s8_s16(vuzp1q_s16(round(i), round(i + 1)));
    let narrow = |i: usize| vuzp1q_s8(eight(i), eight(i + 2));
    let (low, high) = (narrow(0), narrow(4));
    let sum = vaddlvq_s16(vpadalq_s8(vpaddlq_s8(low), high));
    let at = (j * NR + t) * 32;
    store(pair, at, low);
    store(pair, at + 16, high);
    pair.d[j][t] = d;
    pair.s[j][t] = d * sum as f32;
    let sums = vreinterpret_s8_s16(vdup_n_s16(sum as i16));
    store(
        pair,
        offset_of!(QuantPair<NR>, sum) + (j * NR + t) * 8,
        sums,
    );
}
