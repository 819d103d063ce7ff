//! The formulas in f64.

use crate::arena::{Arena, OutOfMemory};
use crate::float::{f16_to_f32, f32_to_f16};
use crate::lanes::{F32x4, flat};
use crate::scalar::rope::RopeStyle;

/// SmolLM2-135M's width of a head.
pub const HEAD_DIM: usize = 64;
pub const EPS: f32 = 1e-5;

/// The values of `x`.
pub fn exact(x: &[F32x4]) -> impl Iterator<Item = f64> + Clone + '_ {
    flat(x).iter().map(|&x| f64::from(x))
}

/// The values of `x`, to work on.
pub fn widened<'a>(arena: &mut Arena<'a>, x: &[F32x4]) -> Result<&'a mut [f64], OutOfMemory> {
    let out = arena.slice(4 * x.len())?;
    out.iter_mut().zip(exact(x)).for_each(|(out, x)| *out = x);
    Ok(out)
}

/// `1 / √(mean(x²) + eps)`.
pub fn rms_scale(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = x.clone().count() as f64;
    let mean = x.map(|x| x * x).sum::<f64>() / n;
    1.0 / libm::sqrt(mean + f64::from(EPS))
}

/// The angle of pair `i` at position `pos`.
fn angle(pos: usize, i: usize) -> f64 {
    const THETA: f64 = 100_000.0;
    pos as f64 * libm::pow(THETA, -2.0 * i as f64 / HEAD_DIM as f64)
}

/// The tables that [`crate::dispatch::rope`] takes, for one position.
pub fn tables(style: RopeStyle, pos: usize, cos: &mut [F32x4], sin: &mut [F32x4]) {
    for i in 0..HEAD_DIM / 2 {
        let (s, c) = libm::sincos(angle(pos, i));
        let (s, c) = (s as f32, c as f32);
        let mut put = |at: usize, s: f32| {
            cos[at / 4].0[at % 4] = c;
            sin[at / 4].0[at % 4] = s;
        };
        match style {
            RopeStyle::Interleaved => {
                put(2 * i, -s);
                put(2 * i + 1, s);
            }
            RopeStyle::HalfSplit => put(i, s),
        }
    }
}

/// Rotates a head.
pub fn rotate(style: RopeStyle, pos: usize, x: &mut [f64]) {
    for i in 0..HEAD_DIM / 2 {
        let (a, b) = match style {
            RopeStyle::Interleaved => (2 * i, 2 * i + 1),
            RopeStyle::HalfSplit => (i, i + HEAD_DIM / 2),
        };
        let (s, c) = libm::sincos(angle(pos, i));
        (x[a], x[b]) = (x[a] * c - x[b] * s, x[b] * c + x[a] * s);
    }
}

/// `g / (1 + e^−g) · u`.
pub fn swiglu(gate: f64, up: f64) -> f64 {
    gate / (1.0 + libm::exp(-gate)) * up
}

/// Replaces a query, scaled already, by what it gets of the positions in `keys` and `values`.
pub fn attend(query: &mut [f64], keys: &[f64], values: &[f64]) {
    let (mut total, mut sums) = (0.0, [0.0; HEAD_DIM]);
    let values = values.chunks_exact(HEAD_DIM);
    for (key, value) in keys.chunks_exact(HEAD_DIM).zip(values) {
        let score: f64 = query.iter().zip(key).map(|(q, k)| q * k).sum();
        let weight = libm::exp(score);
        total += weight;
        for (sum, v) in sums.iter_mut().zip(value) {
            *sum += weight * v;
        }
    }
    query.copy_from_slice(&sums.map(|sum| sum / total));
}

/// What a cache holds of one position's key or value.
pub type Hold = fn(&mut [f64]);

pub fn as_f32(vector: &mut [f64]) {
    vector.iter_mut().for_each(|v| *v = f64::from(*v as f32));
}

pub fn as_f16(vector: &mut [f64]) {
    let round = |v: f64| f64::from(f16_to_f32(f32_to_f16(v as f32)));
    vector.iter_mut().for_each(|v| *v = round(*v));
}

pub fn as_int8(vector: &mut [f64]) {
    let largest = vector.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
    let d = largest as f32 / 127.0;
    let inverse = 1.0 / d;
    for v in vector.iter_mut() {
        *v = f64::from(d) * f64::from(libm::rintf(*v as f32 * inverse));
    }
}

pub fn as_it_is(_: &mut [f64]) {}
