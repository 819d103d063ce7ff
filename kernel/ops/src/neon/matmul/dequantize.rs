//! The dequantize kernels: weights to floats, then fused multiply-adds: see [`crate::scalar::matmul::dequantized_tile`].
//!
//! ```text
//! one row  w0 w1          sxtl, sxtl2          int8 → int16 → int32
//!                         scvtf                → 4 × f32, eight times
//!                         fmul by d            (or fmla by d onto m)
//!                         fmla with x0 … x31   → 16 lanes
//! ```

use core::arch::aarch64::*;

use super::super::load::load;
use super::super::norm::{halve_to_four, sum_four};
use super::{Block, QuantizedNeon, for_tiles, to_lanes};
use crate::activations::FloatChunk;
use crate::lanes::F32x4;
use crate::packed::MR;

/// One block of four rows, on its way to floats.
pub struct Unscaled {
    /// Integers.
    pub(super) rows: [Block; MR],
    /// What the rows' integers are multiplied by, in the first and the second half of the block.
    pub(super) d: [float32x4_t; 2],
    /// What is added then, for formats with a minimum.
    pub(super) m: float32x4_t,
}

/// See [`crate::scalar::matmul::gemm_dequantized`].
#[target_feature(enable = "neon")]
pub fn gemm_dequantized<Q: QuantizedNeon, const NR: usize>(
    groups: &[Q::Slab],
    x: &[FloatChunk<NR>],
    n_blocks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let (w_len, x_len) = (n_blocks.div_ceil(Q::BLOCKS), 2 * n_blocks);
    for_tiles(groups, w_len, x, x_len, n_tokens, out, |group, x| {
        let [a, b, c, d] = [
            row::<Q, 0, NR>(group, x),
            row::<Q, 1, NR>(group, x),
            row::<Q, 2, NR>(group, x),
            row::<Q, 3, NR>(group, x),
        ];
        core::array::from_fn::<_, NR, _>(|t| to_lanes(sum_four([a[t], b[t], c[t], d[t]])))
    });
}

/// Row `R` of a group times `NR` tokens: four partial sums for each.
#[inline]
#[target_feature(enable = "neon")]
fn row<Q: QuantizedNeon, const R: i32, const NR: usize>(
    group: &[Q::Slab],
    x: &[FloatChunk<NR>],
) -> [float32x4_t; NR] {
    let mut lanes = [[vdupq_n_f32(0.0); 4]; NR];
    let mut block = |b: usize, in_slab: usize, x: &[FloatChunk<NR>; 2]| {
        // SAFETY: whoever calls this function has AdvSIMD.
        let Unscaled { rows, d, m } = unsafe { Q::unscaled(&group[b / Q::BLOCKS], in_slab) };
        let (first, second) = rows[R as usize];
        for (half, q) in [first, second].into_iter().enumerate() {
            let w = widen(q).map(|q| {
                if Q::HAS_MIN {
                    vfmaq_laneq_f32::<R>(vdupq_laneq_f32::<R>(m), q, d[half])
                } else {
                    vmulq_laneq_f32::<R>(q, d[half])
                }
            });
            for t in 0..NR {
                for i in 0..4 {
                    lanes[t][i] = vfmaq_f32(lanes[t][i], w[i], load(&x[half], t * 64 + i * 16));
                }
            }
        }
    };
    let (x, _) = x.as_chunks::<2>();
    // With one token, what a turn costs besides its products shows: two blocks share it.
    let (pairs, _) = x.as_chunks::<2>();
    let pairs = if NR == 1 { pairs } else { &[] };
    for (p, [first, second]) in pairs.iter().enumerate() {
        let b = 2 * p;
        block(b, b % Q::BLOCKS, first);
        block(b, b % Q::BLOCKS + 1, second);
    }
    for (b, x) in x.iter().enumerate().skip(2 * pairs.len()) {
        block(b, b % Q::BLOCKS, x);
    }
    lanes.map(|lanes| halve_to_four(lanes))
}

/// Sixteen bytes as floats.
#[inline]
#[target_feature(enable = "neon")]
fn widen(q: int8x16_t) -> [float32x4_t; 4] {
    let (low, high) = (vmovl_s8(vget_low_s8(q)), vmovl_high_s8(q));
    [
        vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))),
        vcvtq_f32_s32(vmovl_high_s16(low)),
        vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
        vcvtq_f32_s32(vmovl_high_s16(high)),
    ]
}
