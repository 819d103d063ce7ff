//! Norms, rotations, quantisation and what is done value by value.

use super::random::Random;
use super::{Comparison, Outcome};
use crate::activations::{QuantPair, TILE};
use crate::arena::{Arena, OutOfMemory};
use crate::lanes::F32x4;
use crate::scalar::rope::RopeStyle;
use crate::{dispatch, scalar};

/// Tokens in a panel.
const TOKENS: usize = 3;

pub(super) fn run(
    arena: &mut Arena<'_>,
    report: &mut dyn FnMut(Outcome),
) -> Result<(), OutOfMemory> {
    report(rms_norm(arena)?);
    report(quantize(arena)?);
    report(rope(arena)?);
    report(swiglu(arena)?);
    report(add_assign(arena)?);
    Ok(())
}

fn rms_norm(arena: &mut Arena<'_>) -> Result<Outcome, OutOfMemory> {
    let mut comparison = Comparison::new("rms_norm");
    let mut random = Random::new(1);
    for len in [1, 4, 6, 24, 144] {
        let x = arena.slice(len * TOKENS)?;
        let weight = arena.slice(len)?;
        let (ours, theirs) = (arena.slice(len + 2)?, arena.slice(len + 2)?);
        random.fill(weight, 2.0);
        for scale in [0.0, 1e-6, 1.0, 1e4] {
            random.fill(x, scale);
            for t in 0..TOKENS {
                dispatch::rms_norm(x, TOKENS, t, weight, 1e-5, ours);
                scalar::norm::rms_norm(x, TOKENS, t, weight, 1e-5, theirs);
                comparison.floats(ours, theirs);
            }
        }
    }
    Ok(comparison.outcome)
}

fn quantize(arena: &mut Arena<'_>) -> Result<Outcome, OutOfMemory> {
    const BLOCKS: usize = 5;
    let mut comparison = Comparison::new("quantize");
    let mut random = Random::new(2);
    let x = arena.slice::<F32x4>(BLOCKS * 8)?;
    let ours = arena.slice::<QuantPair<TILE>>(BLOCKS.div_ceil(2))?;
    let theirs = arena.slice::<QuantPair<TILE>>(BLOCKS.div_ceil(2))?;
    for scale in [0.0, 1e-44, 1e-36, 1e-3, 1.0, 1e30, f32::MAX] {
        random.fill(x, scale);
        // Halfway cases: with an absolute maximum of 127 the scale is 1.
        x[0].0 = [127.0, 0.5, 1.5, -2.5];
        for t in 0..TILE {
            dispatch::quantize(x, BLOCKS, ours, t);
            scalar::quantize::quantize(x, BLOCKS, theirs, t);
        }
        compare_pairs(ours, theirs, BLOCKS, &mut comparison);
    }
    // What is no number must be seen in the products: in the scale.
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        random.fill(x, 1.0);
        x[9].0[2] = bad;
        dispatch::quantize(x, BLOCKS, ours, 0);
        comparison.value(!ours[0].d[1][0].is_finite() && ours[0].d[0][0].is_finite());
    }
    Ok(comparison.outcome)
}

fn compare_pairs(
    ours: &[QuantPair<TILE>],
    theirs: &[QuantPair<TILE>],
    blocks: usize,
    comparison: &mut Comparison,
) {
    for b in 0..blocks {
        let (ours, theirs, j) = (&ours[b / 2], &theirs[b / 2], b % 2);
        for t in 0..TILE {
            comparison.value(ours.q[j][t] == theirs.q[j][t]);
            comparison.value(ours.d[j][t].to_bits() == theirs.d[j][t].to_bits());
            let sums = ours.sum[j][t] == theirs.sum[j][t];
            comparison.value(sums && ours.s[j][t].to_bits() == theirs.s[j][t].to_bits());
        }
    }
}

fn rope(arena: &mut Arena<'_>) -> Result<Outcome, OutOfMemory> {
    let mut comparison = Comparison::new("rope");
    let mut random = Random::new(3);
    for len in [2, 6, 16] {
        let x = arena.slice(len * TOKENS)?;
        let (cos, sin) = (arena.slice(len)?, arena.slice(len)?);
        let (ours, theirs) = (arena.slice(len)?, arena.slice(len)?);
        random.fill(x, 3.0);
        random.fill(cos, 1.0);
        random.fill(sin, 1.0);
        for style in [RopeStyle::Interleaved, RopeStyle::HalfSplit] {
            for t in 0..TOKENS {
                dispatch::rope(style, x, TOKENS, t, cos, sin, 0.125, ours);
                scalar::rope::rope(style, x, TOKENS, t, cos, sin, 0.125, theirs);
                comparison.floats(ours, theirs);
            }
        }
    }
    Ok(comparison.outcome)
}

fn swiglu(arena: &mut Arena<'_>) -> Result<Outcome, OutOfMemory> {
    const LEN: usize = 512;
    let mut comparison = Comparison::new("swiglu");
    let mut random = Random::new(4);
    let (ours, theirs) = (arena.slice::<F32x4>(LEN)?, arena.slice::<F32x4>(LEN)?);
    let up = arena.slice::<F32x4>(LEN)?;
    for scale in [0.0, 1e-3, 1.0, 20.0, 100.0, 1e30] {
        random.fill(ours, scale);
        random.fill(up, 2.0);
        ours[0].0 = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0];
        theirs.copy_from_slice(ours);
        dispatch::swiglu(ours, up);
        scalar::elementwise::swiglu(theirs, up);
        comparison.floats(ours, theirs);
    }
    Ok(comparison.outcome)
}

fn add_assign(arena: &mut Arena<'_>) -> Result<Outcome, OutOfMemory> {
    let mut comparison = Comparison::new("add_assign");
    let mut random = Random::new(5);
    let (ours, theirs) = (arena.slice::<F32x4>(33)?, arena.slice::<F32x4>(33)?);
    let y = arena.slice::<F32x4>(33)?;
    random.fill(ours, 1.0);
    random.fill(y, 1e-4);
    theirs.copy_from_slice(ours);
    dispatch::add_assign(ours, y);
    scalar::elementwise::add_assign(theirs, y);
    comparison.floats(ours, theirs);
    Ok(comparison.outcome)
}
