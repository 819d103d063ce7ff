//! Q6_K: see [`crate::packed::q6_k`].

use core::arch::aarch64::*;

use super::super::load::{load, settle};
use super::formats::five_bits;
use super::{Block, QuantizedNeon, Unscaled, to_lanes, widen_f16};
use crate::activations::QuantPair;
use crate::lanes::F32x4;
use crate::packed::MR;
use crate::packed::q6_k::{Q6_K, Slab};

/// Q6_K, whose blocks have a scale for each half.
impl QuantizedNeon for Q6_K {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn tile<const NR: usize>(
        group: &[Slab],
        x: &[QuantPair<NR>],
        _n_blocks: usize,
    ) -> [F32x4; NR] {
        let mut acc = [vdupq_n_f32(0.0); NR];
        for (w, x) in group.iter().zip(x.chunks_exact(4)) {
            for (p, x) in x.iter().enumerate() {
                q6_k_block(w, 2 * p, x, &mut acc);
                q6_k_block(w, 2 * p + 1, x, &mut acc);
            }
        }
        acc.map(|sum| to_lanes(sum))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn unscaled(w: &Slab, j: usize) -> Unscaled {
        let d = widen_f16(load(w, 0), 0);
        Unscaled {
            rows: rows(w, j),
            d: scales(w, j).map(|scale| vmulq_f32(d, vcvtq_f32_s32(scale))),
            m: vdupq_n_f32(0.0),
        }
    }
}

/// The scales of both halves of block `b`, four rows.
#[inline]
#[target_feature(enable = "neon")]
fn scales(w: &Slab, b: usize) -> [int32x4_t; 2] {
    w.scale[b].map(|scales| {
        let bytes = vcreate_s8(u64::from(u32::from_le_bytes(scales.map(|s| s as u8))));
        vmovl_s16(vget_low_s16(vmovl_s8(bytes)))
    })
}

/// The integers of block `b`, four rows.
#[inline]
#[target_feature(enable = "neon")]
fn rows(w: &Slab, b: usize) -> [Block; MR] {
    let at = 80 + b * 32;
    let (fifth, sixth) = (load(w, at), load(w, at + 16));
    core::array::from_fn(|r| {
        let (a, b) = five_bits(load(w, 336 + (b * MR + r) * 16), fifth, r);
        let bit = |b: usize| {
            let set = vtstq_u8(sixth, vdupq_n_u8(1 << b));
            // Less 32 where the bit is not set.
            vreinterpretq_s8_u8(vbicq_u8(vdupq_n_u8(32), set))
        };
        (vsubq_s8(a, bit(2 * r)), vsubq_s8(b, bit(2 * r + 1)))
    })
}

#[inline]
#[target_feature(enable = "neon")]
fn q6_k_block<const NR: usize>(w: &Slab, b: usize, x: &QuantPair<NR>, acc: &mut [float32x4_t; NR]) {
    let d = widen_f16(load(w, 0), 0);
    let [first, second] = scales(w, b);
    let rows = rows(w, b);
    let j = b % 2;
    for t in 0..NR {
        let at = (j * NR + t) * 32;
        let (x0, x1) = (load(x, at), load(x, at + 16));
        let sum = |half: fn(&Block) -> int8x16_t, x: int8x16_t| {
            let [a, b, c, d] = core::array::from_fn(|r| {
                let w = half(&rows[r]);
                let products = vmull_s8(vget_low_s8(w), vget_low_s8(x));
                vpaddlq_s16(vmlal_high_s8(products, w, x))
            });
            vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d))
        };
        let dots = vmulq_s32(sum(|row| row.0, x0), first);
        let dots = vmlaq_s32(dots, sum(|row| row.1, x1), second);
        let scale = vmulq_n_f32(d, x.d[j][t]);
        acc[t] = settle(vfmaq_f32(acc[t], vcvtq_f32_s32(dots), scale));
    }
}
