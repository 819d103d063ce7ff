//! The cache, attention to its blocks, and their merge.

use super::random::Random;
use super::{Comparison, Outcome};
use crate::arena::{Arena, OutOfMemory};
use crate::lanes::F32x4;
use crate::scalar::attention::{BLOCK, KvF16, KvF32, KvI8, Side, partial_len};
use crate::{dispatch, scalar};

pub(super) fn run(
    arena: &mut Arena<'_>,
    report: &mut dyn FnMut(Outcome),
) -> Result<(), OutOfMemory> {
    report(attend::<KvF16>(arena, "attention, f16 cache")?);
    report(attend::<KvF32>(arena, "attention, f32 cache")?);
    report(attend::<KvI8>(arena, "attention, int8 cache")?);
    report(merge(arena)?);
    Ok(())
}

fn attend<K: dispatch::KvKernels>(
    arena: &mut Arena<'_>,
    kernel: &'static str,
) -> Result<Outcome, OutOfMemory> {
    let mut comparison = Comparison::new(kernel);
    let mut random = Random::new(6);
    for head_dim in [8, 16, 24, 64, 80] {
        let lanes = head_dim / 4;
        let ours = arena.slice::<K::Lane>(K::unit_len(head_dim))?;
        let theirs = arena.slice::<K::Lane>(K::unit_len(head_dim))?;
        let (key, values) = (arena.slice(lanes)?, arena.slice(lanes * 2)?);
        for at in 0..BLOCK {
            random.fill(key, 2.0);
            random.fill(values, 3.0);
            dispatch::append::<K>(ours, at, key, values, 2, at % 2);
            scalar::attention::append::<K>(theirs, at, key, values, 2, at % 2);
        }
        for (a, b) in ours.iter().zip(theirs.iter()) {
            let equal = K::widen(a).map(f32::to_bits) == K::widen(b).map(f32::to_bits);
            comparison.value(equal);
        }
        for side in [Side::Key, Side::Value] {
            for at in 0..BLOCK {
                let scale = |unit| K::scale(unit, head_dim, side, at).to_bits();
                comparison.value(scale(ours) == scale(theirs));
            }
        }
        let queries = arena.slice(4 * lanes)?;
        random.fill(queries, 1.5);
        for n in [1, 3, 4, 16, 17, 30, 63, BLOCK] {
            compare::<K, 1>(arena, queries, ours, [n], &mut comparison)?;
            compare::<K, 2>(arena, queries, ours, [n, 1], &mut comparison)?;
            compare::<K, 3>(arena, queries, ours, [n, n, n], &mut comparison)?;
            let rising = [n.div_ceil(2), n.div_ceil(2), n, n];
            compare::<K, 4>(arena, queries, ours, rising, &mut comparison)?;
        }
    }
    Ok(comparison.outcome)
}

fn compare<K: dispatch::KvKernels, const NQ: usize>(
    arena: &mut Arena<'_>,
    queries: &[F32x4],
    unit: &[K::Lane],
    n_valid: [usize; NQ],
    comparison: &mut Comparison,
) -> Result<(), OutOfMemory> {
    let lanes = queries.len() / 4;
    let len = NQ * partial_len(4 * lanes);
    let (ours, theirs) = (arena.slice(len)?, arena.slice(len)?);
    let queries = &queries[..NQ * lanes];
    dispatch::attend::<K, NQ>(queries, unit, n_valid, ours);
    scalar::attention::attend::<K, NQ>(queries, unit, n_valid, theirs);
    comparison.floats(ours, theirs);
    Ok(())
}

fn merge(arena: &mut Arena<'_>) -> Result<Outcome, OutOfMemory> {
    const LANES: usize = 6;
    const STRIDE: usize = 2 * (LANES + 1);
    let mut comparison = Comparison::new("merge");
    let mut random = Random::new(7);
    for n_blocks in [1, 2, 9] {
        let partials = arena.slice::<F32x4>(n_blocks * STRIDE)?;
        random.fill(partials, 4.0);
        for block in partials.chunks_exact_mut(LANES + 1) {
            block[LANES].0[1] = 1.0 + random.unit().abs() * 60.0;
        }
        let (ours, theirs) = (arena.slice(LANES)?, arena.slice(LANES)?);
        dispatch::merge(partials, STRIDE, n_blocks, ours);
        scalar::attention::merge(partials, STRIDE, n_blocks, theirs);
        comparison.floats(ours, theirs);
    }
    Ok(comparison.outcome)
}
