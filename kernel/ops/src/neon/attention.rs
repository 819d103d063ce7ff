//! Attention: see [`crate::scalar::attention`].
//!
//! Keys lie by dimension, so that sixteen positions' scores grow side by side, a query's value
//! multiplied in from its lane; values lie by position, so that sixteen dimensions do.

use core::arch::aarch64::*;

use super::exp::exp;
use super::load::{load, store};
use super::norm::sum_lanes;
use crate::float::fma;
use crate::kv_format::{BLOCK, KvF16, KvF32, KvFormat, KvI8, Side};
use crate::lanes::{F16x8, F32x4, F32x8, I8x8};
use crate::scalar;
use crate::scalar::attention::partial_len;

/// Positions, or dimensions, that are worked on at once.
const SPAN: usize = 16;

/// A cache format with twins of [`crate::scalar::attention::attend`] and
/// [`crate::scalar::attention::append`].
pub trait KvNeon: KvFormat + Sized {
    /// Attends.
    ///
    /// # Safety
    /// The core has AdvSIMD.
    unsafe fn attend<const NQ: usize>(
        queries: &[F32x4],
        unit: &[Self::Lane],
        n_valid: [usize; NQ],
        out: &mut [F32x4],
    );

    /// Appends.
    ///
    /// # Safety
    /// The core has AdvSIMD.
    unsafe fn append(
        unit: &mut [Self::Lane],
        at: usize,
        key: &[F32x4],
        value: &[F32x4],
        n_tokens: usize,
        t: usize,
    ) {
        scalar::attention::append::<Self>(unit, at, key, value, n_tokens, t);
    }
}

impl KvNeon for KvF16 {
    #[target_feature(enable = "neon")]
    unsafe fn attend<const NQ: usize>(
        queries: &[F32x4],
        unit: &[F16x8],
        n_valid: [usize; NQ],
        out: &mut [F32x4],
    ) {
        attend::<KvF16, NQ>(queries, unit, n_valid, out, |lane| {
            let f16s = vreinterpretq_f16_u16(load(lane, 0));
            [vcvt_f32_f16(vget_low_f16(f16s)), vcvt_high_f32_f16(f16s)]
        });
    }

    #[target_feature(enable = "neon")]
    unsafe fn append(
        unit: &mut [F16x8],
        at: usize,
        key: &[F32x4],
        value: &[F32x4],
        n_tokens: usize,
        t: usize,
    ) {
        let head_dim = 4 * key.len();
        let (keys, values) = unit.split_at_mut(head_dim * BLOCK / 8);
        let values = &mut values[at * head_dim / 8..][..head_dim / 8];
        let mut value = value[t..].iter().step_by(n_tokens);
        for out in values {
            if let (Some(low), Some(high)) = (value.next(), value.next()) {
                *out = narrow(low, high);
            }
        }
        let rows = keys.as_chunks_mut::<{ BLOCK / 8 }>().0;
        for (rows, key) in rows
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .zip(key.as_chunks::<2>().0)
        {
            let narrowed = narrow(&key[0], &key[1]);
            for (row, bits) in rows.iter_mut().zip(narrowed.0) {
                row[(at / 8) & 7].0[at % 8] = bits;
            }
        }
    }
}

impl KvNeon for KvF32 {
    #[target_feature(enable = "neon")]
    unsafe fn attend<const NQ: usize>(
        queries: &[F32x4],
        unit: &[F32x8],
        n_valid: [usize; NQ],
        out: &mut [F32x4],
    ) {
        attend::<KvF32, NQ>(queries, unit, n_valid, out, |lane| {
            [load(lane, 0), load(lane, 16)]
        });
    }
}

impl KvNeon for KvI8 {
    #[target_feature(enable = "neon")]
    unsafe fn attend<const NQ: usize>(
        queries: &[F32x4],
        unit: &[I8x8],
        n_valid: [usize; NQ],
        out: &mut [F32x4],
    ) {
        attend::<KvI8, NQ>(queries, unit, n_valid, out, |lane| {
            let wide = vmovl_s8(load(lane, 0));
            [
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide))),
                vcvtq_f32_s32(vmovl_high_s16(wide)),
            ]
        });
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn attend<K: KvFormat, const NQ: usize>(
    queries: &[F32x4],
    unit: &[K::Lane],
    n_valid: [usize; NQ],
    out: &mut [F32x4],
    widen: impl Fn(&K::Lane) -> [float32x4_t; 2] + Copy,
) {
    let lanes = queries.len() / NQ;
    let head_dim = 4 * lanes;
    let (keys, values) = unit.split_at(head_dim * BLOCK / 8);
    let n_max = n_valid.iter().fold(0, |a, &b| a.max(b));
    let n_spans = n_max.div_ceil(SPAN);

    let mut p = [[F32x4::ZERO; BLOCK / 4]; NQ];
    for span in 0..n_spans {
        let s = scores::<K::Lane, NQ>(queries, keys, span, widen);
        for i in 0..4 {
            let at = (span & 3) * 4 + i;
            let scale = scales::<K>(unit, head_dim, Side::Key, at);
            for q in 0..NQ {
                let s = if K::SCALED {
                    vmulq_f32(s[q][i], scale)
                } else {
                    s[q][i]
                };
                store(&mut p[q][at], 0, s);
            }
        }
    }
    let out_len = partial_len(head_dim);
    for q in 0..NQ {
        out[q * out_len + lanes] = softmax(&mut p[q], n_valid[q], n_spans);
    }
    if K::SCALED {
        for at in 0..4 * n_spans {
            let scale = scales::<K>(unit, head_dim, Side::Value, at);
            for q in 0..NQ {
                let weight = vmulq_f32(load(&p[q][at], 0), scale);
                store(&mut p[q][at], 0, weight);
            }
        }
    }
    for span in 0..head_dim / SPAN {
        let o = weighted::<K::Lane, NQ, 2>(&p, values, head_dim, n_spans, 2 * span, widen);
        for q in 0..NQ {
            let at = q * out_len + 4 * span;
            for (out, o) in out[at..at + 4].iter_mut().zip(o[q].as_flattened()) {
                store(out, 0, *o);
            }
        }
    }
    if !head_dim.is_multiple_of(SPAN) {
        let from = head_dim / 8 - 1;
        let o = weighted::<K::Lane, NQ, 1>(&p, values, head_dim, n_spans, from, widen);
        for q in 0..NQ {
            let at = q * out_len + 2 * from;
            store(&mut out[at], 0, o[q][0][0]);
            store(&mut out[at + 1], 0, o[q][0][1]);
        }
    }
}

/// The scales of four positions.
#[inline]
#[target_feature(enable = "neon")]
fn scales<K: KvFormat>(unit: &[K::Lane], head_dim: usize, side: Side, at: usize) -> float32x4_t {
    let scales = core::array::from_fn(|i| K::scale(unit, head_dim, side, 4 * at + i));
    load(&F32x4(scales), 0)
}

/// Scores of [`SPAN`] positions: one fma a dimension, ascending.
#[inline]
#[target_feature(enable = "neon")]
fn scores<L, const NQ: usize>(
    queries: &[F32x4],
    keys: &[L],
    span: usize,
    widen: impl Fn(&L) -> [float32x4_t; 2],
) -> [[float32x4_t; 4]; NQ] {
    // Within a dimension's row whatever the caller says, so that no index needs a check.
    let span = span & (BLOCK / SPAN - 1);
    let lanes = queries.len() / NQ;
    let queries: [&[F32x4]; NQ] = core::array::from_fn(|q| &queries[q * lanes..][..lanes]);
    let mut s = [[vdupq_n_f32(0.0); 4]; NQ];
    let (four_dimensions, _) = keys.as_chunks::<{ 4 * BLOCK / 8 }>();
    for (g, keys) in four_dimensions[..lanes].iter().enumerate() {
        let x = queries.map(|query| load(&query[g], 0));
        let row = |d: usize| {
            let at = (d * BLOCK + span * SPAN) / 8;
            let ([a, b], [c, e]) = (widen(&keys[at]), widen(&keys[at + 1]));
            [a, b, c, e]
        };
        add_scaled::<0, NQ, 4>(&mut s, row(0), x);
        add_scaled::<1, NQ, 4>(&mut s, row(1), x);
        add_scaled::<2, NQ, 4>(&mut s, row(2), x);
        add_scaled::<3, NQ, 4>(&mut s, row(3), x);
    }
    s
}

/// `sums[q] = fma(row, lane LANE of x[q], sums[q])`
#[inline]
#[target_feature(enable = "neon")]
fn add_scaled<const LANE: i32, const NQ: usize, const N: usize>(
    sums: &mut [[float32x4_t; N]; NQ],
    row: [float32x4_t; N],
    x: [float32x4_t; NQ],
) {
    for q in 0..NQ {
        for i in 0..N {
            sums[q][i] = vfmaq_laneq_f32::<LANE>(sums[q][i], row[i], x[q]);
        }
    }
}

/// Turns scores into weights, zeros from `n_valid` on, and returns maximum and sum.
#[inline]
#[target_feature(enable = "neon")]
fn softmax(p: &mut [F32x4; BLOCK / 4], n_valid: usize, n_spans: usize) -> F32x4 {
    let (whole, part) = (n_valid / 4, n_valid % 4);
    let mut max = vdupq_n_f32(f32::NEG_INFINITY);
    for lanes in &p[..whole] {
        max = vmaxnmq_f32(max, load(lanes, 0));
    }
    if part > 0 {
        let lanes = &mut p[whole].0;
        lanes[part..].fill(f32::NEG_INFINITY);
        max = vmaxnmq_f32(max, load(&p[whole], 0));
    }
    let max = vmaxnmvq_f32(max);
    let mut sums = [vdupq_n_f32(0.0); 4];
    for (s, lanes) in p[..4 * n_spans]
        .as_chunks_mut::<4>()
        .0
        .iter_mut()
        .enumerate()
    {
        for i in 0..4 {
            let at = 4 * s + i;
            if at > whole || (at == whole && part == 0) {
                lanes[i] = F32x4::ZERO;
                continue;
            }
            let e = exp(vsubq_f32(load(&lanes[i], 0), vdupq_n_f32(max)));
            store(&mut lanes[i], 0, e);
            if at == whole {
                lanes[i].0[part..].fill(0.0);
            }
            sums[i] = vaddq_f32(sums[i], load(&lanes[i], 0));
        }
    }
    F32x4([max, sum_lanes(sums), 0.0, 0.0])
}

/// Weighted sums of `8 · N` dimensions from lane `from` on: one fma a position, ascending.
#[inline]
#[target_feature(enable = "neon")]
fn weighted<L, const NQ: usize, const N: usize>(
    p: &[[F32x4; BLOCK / 4]; NQ],
    values: &[L],
    head_dim: usize,
    n_spans: usize,
    from: usize,
    widen: impl Fn(&L) -> [float32x4_t; 2],
) -> [[[float32x4_t; 2]; N]; NQ] {
    let width = head_dim / 8;
    let mut o = [[[vdupq_n_f32(0.0); 2]; N]; NQ];
    for (g, values) in values.chunks_exact(4 * width).take(4 * n_spans).enumerate() {
        let g = g & (BLOCK / 4 - 1);
        let x: [float32x4_t; NQ] = core::array::from_fn(|q| load(&p[q][g], 0));
        let row = |t: usize| -> [[float32x4_t; 2]; N] {
            let row = &values[t * width + from..][..N];
            core::array::from_fn(|i| widen(&row[i]))
        };
        add_pairs::<0, NQ, N>(&mut o, row(0), x);
        add_pairs::<1, NQ, N>(&mut o, row(1), x);
        add_pairs::<2, NQ, N>(&mut o, row(2), x);
        add_pairs::<3, NQ, N>(&mut o, row(3), x);
    }
    o
}

/// [`add_scaled`] for rows of pairs.
#[inline]
#[target_feature(enable = "neon")]
fn add_pairs<const LANE: i32, const NQ: usize, const N: usize>(
    sums: &mut [[[float32x4_t; 2]; N]; NQ],
    row: [[float32x4_t; 2]; N],
    x: [float32x4_t; NQ],
) {
    for q in 0..NQ {
        for i in 0..N {
            for h in 0..2 {
                sums[q][i][h] = vfmaq_laneq_f32::<LANE>(sums[q][i][h], row[i][h], x[q]);
            }
        }
    }
}

/// See [`crate::scalar::attention::merge`].
#[target_feature(enable = "neon")]
pub fn merge(partials: &[F32x4], stride: usize, n_blocks: usize, out: &mut [F32x4]) {
    let lanes = out.len();
    let mut max = f32::NEG_INFINITY;
    for b in 0..n_blocks {
        let here = partials[b * stride + lanes].0[0];
        max = if here > max { here } else { max };
    }
    let mut total = 0.0;
    out.fill(F32x4::ZERO);
    for b in 0..n_blocks {
        let partial = &partials[b * stride..][..lanes + 1];
        let [m, l, ..] = partial[lanes].0;
        let weight = vgetq_lane_f32::<0>(exp(vdupq_n_f32(m - max)));
        total = fma(l, weight, total);
        for (out, o) in out.iter_mut().zip(partial) {
            let sum = vfmaq_n_f32(load(out, 0), load(o, 0), weight);
            store(out, 0, sum);
        }
    }
    let inverse = 1.0 / total;
    for out in out {
        let scaled = vmulq_n_f32(load(out, 0), inverse);
        store(out, 0, scaled);
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn narrow(low: &F32x4, high: &F32x4) -> F16x8 {
    let low = vcvt_f16_f32(load(low, 0));
    let f16s = vcvt_high_f16_f32(low, load(high, 0));
    let mut out = F16x8::default();
    store(&mut out, 0, vreinterpretq_u16_f16(f16s));
    out
}
