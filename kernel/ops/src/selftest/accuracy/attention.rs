//! Attention over a cache of each format, against f64 twice: with what the cache holds, which leaves the
//! kernel's own rounding, and with the keys and values as they were, which adds the format's.

use super::exact::{HEAD_DIM, Hold, as_f16, as_f32, as_int8, as_it_is, attend, widened};
use super::{Checks, Worst, fill};
use crate::arena::{Arena, OutOfMemory};
use crate::dispatch;
use crate::lanes::F32x4;
use crate::scalar::attention::{BLOCK, KvF16, KvF32, KvI8, partial_len};

/// SmolLM2-135M: query heads per KV head.
const GROUP: usize = 3;
/// A context that ends within a block.
const POSITIONS: usize = 3 * BLOCK + 17;

pub(super) fn run(checks: &mut Checks<'_>) -> Result<(), OutOfMemory> {
    // The kernel's own rounding is looked at where softmax is steep: what f32 keeps of such sums.
    checks.check("attention f32 cache", 1e-6, |arena, worst| {
        attention::<KvF32>(arena, worst, 1.0, as_f32)
    })?;
    checks.check("attention f16 cache", 1e-6, |arena, worst| {
        attention::<KvF16>(arena, worst, 1.0, as_f16)
    })?;
    // Integers are multiplied by their scales, and rounded, once more.
    checks.check("attention int8 cache", 2e-6, |arena, worst| {
        attention::<KvI8>(arena, worst, 1.0, as_int8)
    })?;
    // The format's with queries as a model has them, divided by √64. An f16 is off by at most 2⁻¹² of itself.
    checks.check("attention f16 rounding", 5e-4, |arena, worst| {
        attention::<KvF16>(arena, worst, 0.125, as_it_is)
    })?;
    // A byte is off by at most 1/254 of the vector's largest value; softmax averages much of it out.
    checks.check("attention int8 rounding", 5e-3, |arena, worst| {
        attention::<KvI8>(arena, worst, 0.125, as_it_is)
    })
}

/// Three query heads of one KV head over several blocks, with queries up to `scale`, against keys and values
/// as `hold` leaves them.
fn attention<K: dispatch::KvKernels>(
    arena: &mut Arena<'_>,
    worst: &mut Worst<'_>,
    scale: f32,
    hold: Hold,
) -> Result<(), OutOfMemory> {
    let lanes = HEAD_DIM / 4;
    let n_blocks = POSITIONS.div_ceil(BLOCK);
    let unit_len = K::unit_len(HEAD_DIM);
    let units = arena.slice::<K::Lane>(n_blocks * unit_len)?;
    let keys = arena.slice::<F32x4>(POSITIONS * lanes)?;
    let values = arena.slice::<F32x4>(POSITIONS * lanes)?;
    let queries = arena.slice::<F32x4>(GROUP * lanes)?;
    fill(keys, 9, 1.0);
    fill(values, 10, 1.0);
    fill(queries, 11, scale);
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
    for (q, out) in out.chunks_exact_mut(lanes).enumerate() {
        let partials = &partials[q * partial_len(HEAD_DIM)..];
        dispatch::merge(partials, stride, n_blocks, out);
    }

    let [keys, values] = [widened(arena, keys)?, widened(arena, values)?];
    keys.chunks_exact_mut(HEAD_DIM).for_each(hold);
    values.chunks_exact_mut(HEAD_DIM).for_each(hold);
    let exact = widened(arena, queries)?;
    for query in exact.chunks_exact_mut(HEAD_DIM) {
        attend(query, keys, values);
    }
    worst.lanes(out, exact.iter().copied());
    Ok(())
}
