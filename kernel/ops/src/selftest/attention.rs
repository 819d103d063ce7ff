//! The cache, attention to its blocks, and their merge.

use super::Cases;
use crate::arena::OutOfMemory;
use crate::lanes::F32x4;
use crate::scalar::attention::{BLOCK, Side, partial_len};
use crate::{dispatch, scalar};

pub(super) fn attend<K: dispatch::KvKernels>(cases: &mut Cases<'_, '_>) -> Result<(), OutOfMemory> {
    for head_dim in [8, 16, 24, 64, 80] {
        let lanes = head_dim / 4;
        let ours = cases.arena.slice::<K::Lane>(K::unit_len(head_dim))?;
        let theirs = cases.arena.slice::<K::Lane>(K::unit_len(head_dim))?;
        let [key, values] = [cases.arena.slice(lanes)?, cases.arena.slice(lanes * 2)?];
        for at in 0..BLOCK {
            cases.random.fill(key, 2.0);
            cases.random.fill(values, 3.0);
            dispatch::append::<K>(ours, at, key, values, 2, at % 2);
            scalar::attention::append::<K>(theirs, at, key, values, 2, at % 2);
        }
        for (a, b) in ours.iter().zip(theirs.iter()) {
            let equal = K::widen(a).map(f32::to_bits) == K::widen(b).map(f32::to_bits);
            cases.outcome.value(equal);
        }
        for side in [Side::Key, Side::Value] {
            for at in 0..BLOCK {
                let scale = |unit| K::scale(unit, head_dim, side, at).to_bits();
                cases.outcome.value(scale(ours) == scale(theirs));
            }
        }
        let queries = cases.arena.slice(4 * lanes)?;
        cases.random.fill(queries, 1.5);
        for n in [1, 3, 4, 16, 17, 30, 63, BLOCK] {
            compare::<K, 1>(cases, queries, ours, [n])?;
            compare::<K, 2>(cases, queries, ours, [n, 1])?;
            compare::<K, 3>(cases, queries, ours, [n, n, n])?;
            let half = n.div_ceil(2);
            compare::<K, 4>(cases, queries, ours, [half, half, n, n])?;
        }
    }
    Ok(())
}

fn compare<K: dispatch::KvKernels, const NQ: usize>(
    cases: &mut Cases<'_, '_>,
    queries: &[F32x4],
    unit: &[K::Lane],
    n_valid: [usize; NQ],
) -> Result<(), OutOfMemory> {
    let lanes = queries.len() / 4;
    let len = NQ * partial_len(4 * lanes);
    let [ours, theirs] = [cases.arena.slice(len)?, cases.arena.slice(len)?];
    let queries = &queries[..NQ * lanes];
    dispatch::attend::<K, NQ>(queries, unit, n_valid, ours);
    scalar::attention::attend::<K, NQ>(queries, unit, n_valid, theirs);
    cases.outcome.floats(ours, theirs);
    Ok(())
}

pub(super) fn merge(cases: &mut Cases<'_, '_>) -> Result<(), OutOfMemory> {
    const LANES: usize = 6;
    const STRIDE: usize = 2 * (LANES + 1);
    for n_blocks in [1, 2, 9] {
        let partials = cases.arena.slice::<F32x4>(n_blocks * STRIDE)?;
        cases.random.fill(partials, 4.0);
        for block in partials.chunks_exact_mut(LANES + 1) {
            block[LANES].0[1] = 1.0 + cases.random.unit().abs() * 60.0;
        }
        let [ours, theirs] = [cases.arena.slice(LANES)?, cases.arena.slice(LANES)?];
        dispatch::merge(partials, STRIDE, n_blocks, ours);
        scalar::attention::merge(partials, STRIDE, n_blocks, theirs);
        cases.outcome.floats(ours, theirs);
    }
    Ok(())
}
