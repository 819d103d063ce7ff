//! Activations to int8: see [`crate::scalar::quantize`].

use core::arch::aarch64::*;
use core::mem::offset_of;

use super::load::load;
use super::load::store;
use crate::activations::QuantPair;
use crate::lanes::F32x4;

/// See [`crate::scalar::quantize::quantize`].
#[target_feature(enable = "neon")]
pub fn quantize<const NT: usize>(
    x: &[F32x4],
    n_blocks: usize,
    out: &mut [QuantPair<NT>],
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
fn block<const NT: usize>(x: &[F32x4; 8], pair: &mut QuantPair<NT>, j: usize, t: usize) {
    let x: [float32x4_t; 8] = core::array::from_fn(|i| load(&x[i], 0));
    let magnitude = |i: usize| vreinterpretq_u32_f32(vabsq_f32(x[i]));
    let mut bits = magnitude(0);
    for i in 1..8 {
        bits = vmaxq_u32(bits, magnitude(i));
    }
    let d = f32::from_bits(vmaxvq_u32(bits)) / 127.0;
    let (d, inverse) = if d < f32::MIN_POSITIVE {
        (0.0, 0.0)
    } else {
        (d, 1.0 / d)
    };
    let round = |i: usize| vcvtnq_s32_f32(vmulq_n_f32(x[i], inverse));
    let narrow = |i: usize| {
        let low = vuzp1q_s16(
            vreinterpretq_s16_s32(round(i)),
            vreinterpretq_s16_s32(round(i + 1)),
        );
        let high = vuzp1q_s16(
            vreinterpretq_s16_s32(round(i + 2)),
            vreinterpretq_s16_s32(round(i + 3)),
        );
        vuzp1q_s8(vreinterpretq_s8_s16(low), vreinterpretq_s8_s16(high))
    };
    let (low, high) = (narrow(0), narrow(4));
    let sum = vaddlvq_s16(vpadalq_s8(vpaddlq_s8(low), high));
    let at = (j * NT + t) * 32;
    store(pair, at, low);
    store(pair, at + 16, high);
    pair.d[j][t] = d;
    pair.s[j][t] = d * sum as f32;
    let sums = vreinterpret_s8_s16(vdup_n_s16(sum as i16));
    store(
        pair,
        offset_of!(QuantPair<NT>, sum) + (j * NT + t) * 8,
        sums,
    );
}
