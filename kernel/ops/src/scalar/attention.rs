//! Split-KV attention: a few queries to one block of 64 positions, and the merge of blocks.
//!
//! A unit of the cache holds one KV head's keys and values of 64 positions: keys by dimension
//! (all positions of dimension 0, then of dimension 1, …), values by position. So both products
//! run along lanes that never meet, and the sums are plain chains:
//!
//! ```text
//! s_t = fma over d ascending of q_d · k_td          (q is scaled by 1/√head_dim already)
//! m   = max s_t,  p_t = exp(s_t − m),  l = Σ p_t in 16 lanes by t and a halving tree
//! o_d = fma over t ascending of p_t · v_td
//! ```
//! With a cache in int8, `k` and `v` are integers: `s_t` is multiplied by the key's scale when it is
//! whole, and `p_t` by the value's before it is used.

use super::exp::exp;
use super::quantize::{largest_bits, scale_and_inverse};
use super::sum_lanes;
use crate::float::fma;
pub use crate::kv_format::{BLOCK, KvF16, KvF32, KvFormat, KvI8, Side, unit_len};
use crate::lanes::F32x4;

/// Elements in a partial result: `o`, and one with `m` and `l`.
pub const fn partial_len(head_dim: usize) -> usize {
    head_dim / 4 + 1
}

/// Puts one position's key (a plain vector) and value (token `t` of a panel) into place `at`.
///
/// A format with scales quantises each as activations are: `d = absmax / 127`.
#[inline(always)] // Must take on the caller's target features.
pub fn append<K: KvFormat>(
    unit: &mut [K::Lane],
    at: usize,
    key: &[F32x4],
    value: &[F32x4],
    n_tokens: usize,
    t: usize,
) {
    let head_dim = 4 * key.len();
    let (mut key_scale, mut value_scale) = ((1.0, 1.0), (1.0, 1.0));
    if K::SCALED {
        let values = value[t..].iter().step_by(n_tokens).take(key.len());
        key_scale = scale_and_inverse(largest_bits(key.iter()));
        value_scale = scale_and_inverse(largest_bits(values));
        K::set_scale(unit, head_dim, Side::Key, at, key_scale.0);
        K::set_scale(unit, head_dim, Side::Value, at, value_scale.0);
    }
    let (keys, values) = unit.split_at_mut(head_dim * BLOCK / 8);
    let values = &mut values[at * head_dim / 8..];
    for g in 0..key.len() {
        for i in 0..4 {
            let d = 4 * g + i;
            let (k, v) = (key[g].0[i], value[g * n_tokens + t].0[i]);
            K::set(&mut keys[d * BLOCK / 8 + at / 8], at % 8, k * key_scale.1);
            K::set(&mut values[d / 8], d % 8, v * value_scale.1);
        }
    }
}

/// `NQ` queries (plain vectors, one after the other) to the first `n_valid[q]` positions of a
/// unit, at least one each. `out` takes one partial result a query.
#[inline(always)] // Must take on the caller's target features.
pub fn attend<K: KvFormat, const NQ: usize>(
    queries: &[F32x4],
    unit: &[K::Lane],
    n_valid: [usize; NQ],
    out: &mut [F32x4],
) {
    let lanes = queries.len() / NQ;
    let head_dim = 4 * lanes;
    let (keys, values) = unit.split_at(head_dim * BLOCK / 8);
    let n_max = n_valid.iter().fold(0, |a, &b| a.max(b));

    let mut scores = [[0.0; BLOCK]; NQ];
    for from in (0..n_max).step_by(16) {
        let mut s = [[0.0; 16]; NQ];
        for d in 0..head_dim {
            let at = d * BLOCK / 8 + from / 8;
            let low = K::widen(&keys[at]);
            let high = K::widen(&keys[at + 1]);
            for q in 0..NQ {
                let x = queries[q * lanes + d / 4].0[d % 4];
                for i in 0..8 {
                    s[q][i] = fma(x, low[i], s[q][i]);
                    s[q][8 + i] = fma(x, high[i], s[q][8 + i]);
                }
            }
        }
        for q in 0..NQ {
            for i in 0..16 {
                let scale = K::scale(unit, head_dim, Side::Key, from + i);
                scores[q][from + i] = if K::SCALED { s[q][i] * scale } else { s[q][i] };
            }
        }
    }

    for q in 0..NQ {
        let scores = &mut scores[q];
        let mut m = f32::NEG_INFINITY;
        for &s in &scores[..n_valid[q]] {
            m = if s > m { s } else { m };
        }
        let mut sum = [0.0; 16];
        for t in 0..BLOCK {
            scores[t] = if t < n_valid[q] {
                exp(scores[t] - m)
            } else {
                0.0
            };
            sum[t % 16] += scores[t];
        }
        if K::SCALED {
            for t in 0..n_max {
                scores[t] *= K::scale(unit, head_dim, Side::Value, t);
            }
        }
        let stats = F32x4([m, sum_lanes(sum), 0.0, 0.0]);
        out[q * partial_len(head_dim) + lanes] = stats;
    }

    for d in 0..head_dim / 8 {
        let mut o = [[0.0; 8]; NQ];
        for t in 0..n_max {
            let v = K::widen(&values[t * head_dim / 8 + d]);
            for q in 0..NQ {
                for i in 0..8 {
                    o[q][i] = fma(scores[q][t], v[i], o[q][i]);
                }
            }
        }
        for q in 0..NQ {
            let at = q * partial_len(head_dim) + 2 * d;
            for i in 0..8 {
                out[at + i / 4].0[i % 4] = o[q][i];
            }
        }
    }
}

/// Merges the partial results of one query, blocks ascending, into its head's output.
///
/// With `M = max m_b` and `w_b = exp(m_b − M)`: `L = fma(l_b, w_b, L)`, `o = fma(o_b, w_b, o)`, and
/// at last `o · (1 / L)`. Block `b`'s partial starts at `b · stride`.
#[inline(always)] // Must take on the caller's target features.
pub fn merge(partials: &[F32x4], stride: usize, n_blocks: usize, out: &mut [F32x4]) {
    let lanes = out.len();
    let mut m = f32::NEG_INFINITY;
    for b in 0..n_blocks {
        let here = partials[b * stride + lanes].0[0];
        m = if here > m { here } else { m };
    }
    let mut total = 0.0;
    out.fill(F32x4::ZERO);
    for b in 0..n_blocks {
        let partial = &partials[b * stride..][..lanes + 1];
        let weight = exp(partial[lanes].0[0] - m);
        total = fma(partial[lanes].0[1], weight, total);
        for (out, o) in out.iter_mut().zip(partial) {
            for i in 0..4 {
                out.0[i] = fma(o.0[i], weight, out.0[i]);
            }
        }
    }
    let inverse = 1.0 / total;
    for out in out {
        for i in 0..4 {
            out.0[i] *= inverse;
        }
    }
}
