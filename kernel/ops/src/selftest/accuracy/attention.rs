//! Attention over a cache of each format, against f64 twice: with what the cache holds, which leaves the
//! kernel's own rounding, and with the keys and values as they were, which adds the format's.

use super::vectors::HEAD_DIM;
use super::{Accuracy, Spoil, Worst, fill};
use crate::arena::{Arena, Line, OutOfMemory};
use crate::dispatch;
use crate::float::{f16_to_f32, f32_to_f16};
use crate::lanes::{F32x4, flat};
use crate::scalar::attention::{BLOCK, KvF16, KvF32, KvI8, partial_len};

/// SmolLM2-135M: query heads per KV head.
const GROUP: usize = 3;
/// A context that ends within a block.
const POSITIONS: usize = 3 * BLOCK + 17;
/// What a cache holds of one position's key or value.
pub(super) type Hold = fn(&mut [f64]);

pub(super) fn as_f32(vector: &mut [f64]) {
    vector.iter_mut().for_each(|v| *v = f64::from(*v as f32));
}

pub(super) fn as_f16(vector: &mut [f64]) {
    let halve = |v: f64| f64::from(f16_to_f32(f32_to_f16(v as f32)));
    vector.iter_mut().for_each(|v| *v = halve(*v));
}

pub(super) fn as_int8(vector: &mut [f64]) {
    let largest = vector.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
    let d = largest as f32 / 127.0;
    let inverse = 1.0 / d;
    for v in vector.iter_mut() {
        *v = f64::from(d) * f64::from(libm::rintf(*v as f32 * inverse));
    }
}

fn as_it_is(_: &mut [f64]) {}

/// One comparison.
struct Check {
    name: &'static str,
    /// Largest magnitude of the queries. The kernel's own rounding is looked at where softmax is steep;
    /// the format's with queries as a model has them, divided by √64.
    query_scale: f32,
    /// What the exact result is made of.
    hold: Hold,
    limit: f64,
}

impl Check {
    /// Of the kernel's own rounding: what f32 keeps of such sums.
    fn kernel(name: &'static str, hold: Hold, limit: f64) -> Self {
        Check {
            name,
            query_scale: 1.0,
            hold,
            limit,
        }
    }

    /// With the format's rounding.
    fn rounding(name: &'static str, limit: f64) -> Self {
        Check {
            name,
            query_scale: 0.125,
            hold: as_it_is,
            limit,
        }
    }
}

pub(super) fn run(
    memory: &mut [Line],
    spoil: &mut Spoil<'_>,
    report: &mut dyn FnMut(Accuracy),
) -> Result<(), OutOfMemory> {
    let check = Check::kernel("attention f32 cache", as_f32, 1e-6);
    report(attention::<KvF32>(Arena::new(memory), spoil, &check)?);
    let check = Check::kernel("attention f16 cache", as_f16, 1e-6);
    report(attention::<KvF16>(Arena::new(memory), spoil, &check)?);
    // Integers are multiplied by their scales, and rounded, once more.
    let check = Check::kernel("attention int8 cache", as_int8, 2e-6);
    report(attention::<KvI8>(Arena::new(memory), spoil, &check)?);
    // A half is off by at most 2⁻¹² of itself.
    let check = Check::rounding("attention f16 rounding", 5e-4);
    report(attention::<KvF16>(Arena::new(memory), spoil, &check)?);
    // A byte is off by at most 1/254 of the vector's largest value; softmax averages much of it out.
    let check = Check::rounding("attention int8 rounding", 5e-3);
    report(attention::<KvI8>(Arena::new(memory), spoil, &check)?);
    Ok(())
}

/// Three query heads of one KV head over several blocks.
fn attention<K: dispatch::KvKernels>(
    mut arena: Arena<'_>,
    spoil: &mut Spoil<'_>,
    check: &Check,
) -> Result<Accuracy, OutOfMemory> {
    let lanes = HEAD_DIM / 4;
    let n_blocks = POSITIONS.div_ceil(BLOCK);
    let unit_len = K::unit_len(HEAD_DIM);
    let units = arena.slice::<K::Lane>(n_blocks * unit_len)?;
    let keys = arena.slice::<F32x4>(POSITIONS * lanes)?;
    let values = arena.slice::<F32x4>(POSITIONS * lanes)?;
    let queries = arena.slice::<F32x4>(GROUP * lanes)?;
    fill(keys, 9, 1.0);
    fill(values, 10, 1.0);
    fill(queries, 11, check.query_scale);
    for pos in 0..POSITIONS {
        let unit = &mut units[pos / BLOCK * unit_len..][..unit_len];
        let at = pos * lanes..(pos + 1) * lanes;
        dispatch::append::<K>(unit, pos % BLOCK, &keys[at.clone()], &values[at], 1, 0);
    }
    let stride = GROUP * partial_len(HEAD_DIM);
    let partials = arena.slice::<F32x4>(n_blocks * stride)?;
    for block in 0..n_blocks {
        let n_valid = (POSITIONS - block * BLOCK).min(BLOCK);
        let unit = &units[block * unit_len..][..unit_len];
        let out = &mut partials[block * stride..][..stride];
        dispatch::attend::<K, GROUP>(queries, unit, [n_valid; GROUP], out);
    }
    let out = arena.slice::<F32x4>(GROUP * lanes)?;
    for q in 0..GROUP {
        let partials = &partials[q * partial_len(HEAD_DIM)..];
        dispatch::merge(partials, stride, n_blocks, &mut out[q * lanes..][..lanes]);
    }
    spoil(check.name, out);

    let mut worst = Worst::new();
    for q in 0..GROUP {
        let query = &flat(queries)[q * HEAD_DIM..][..HEAD_DIM];
        let sum = exact(query, flat(keys), flat(values), check.hold);
        worst.lanes(&out[q * lanes..][..lanes], sum.into_iter());
    }
    Ok(worst.report(check.name, check.limit))
}

/// One query's output in f64, over keys and values as `hold` leaves them.
fn exact(query: &[f32], keys: &[f32], values: &[f32], hold: Hold) -> [f64; HEAD_DIM] {
    let held = |vector: &[f32]| {
        let mut held: [f64; HEAD_DIM] = core::array::from_fn(|i| f64::from(vector[i]));
        hold(&mut held);
        held
    };
    let mut total = 0.0;
    let mut sum = [0.0; HEAD_DIM];
    for (key, value) in keys
        .chunks_exact(HEAD_DIM)
        .zip(values.chunks_exact(HEAD_DIM))
    {
        let (key, value) = (held(key), held(value));
        let score: f64 = query.iter().zip(key).map(|(&q, k)| f64::from(q) * k).sum();
        let weight = libm::exp(score);
        total += weight;
        sum.iter_mut()
            .zip(value)
            .for_each(|(sum, v)| *sum += weight * v);
    }
    sum.map(|sum| sum / total)
}
