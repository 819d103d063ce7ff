//! Norms, rotations, quantisation and what is done value by value.

use super::Cases;
use crate::activations::{QuantPair, TILE};
use crate::arena::OutOfMemory;
use crate::lanes::F32x4;
use crate::scalar::rope::RopeStyle;
use crate::{dispatch, scalar};

/// Tokens in a panel.
const TOKENS: usize = 3;

pub(super) fn rms_norm(cases: &mut Cases<'_, '_>) -> Result<(), OutOfMemory> {
    for len in [1, 4, 6, 24, 144] {
        let x = cases.arena.slice(len * TOKENS)?;
        let weight = cases.arena.slice(len)?;
        let [ours, theirs] = [cases.arena.slice(len + 2)?, cases.arena.slice(len + 2)?];
        cases.random.fill(weight, 2.0);
        for scale in [0.0, 1e-6, 1.0, 1e4] {
            cases.random.fill(x, scale);
            for t in 0..TOKENS {
                dispatch::rms_norm(x, TOKENS, t, weight, 1e-5, ours);
                scalar::norm::rms_norm(x, TOKENS, t, weight, 1e-5, theirs);
                cases.outcome.floats(ours, theirs);
            }
        }
    }
    Ok(())
}

pub(super) fn quantize(cases: &mut Cases<'_, '_>) -> Result<(), OutOfMemory> {
    const BLOCKS: usize = 5;
    const PAIRS: usize = BLOCKS.div_ceil(2);
    let x = cases.arena.slice::<F32x4>(BLOCKS * 8)?;
    let ours = cases.arena.slice::<QuantPair<TILE>>(PAIRS)?;
    let theirs = cases.arena.slice::<QuantPair<TILE>>(PAIRS)?;
    for scale in [0.0, 1e-44, 1e-36, 1e-3, 1.0, 1e30, f32::MAX] {
        cases.random.fill(x, scale);
        // Halfway cases: with an absolute maximum of 127 the scale is 1.
        x[0].0 = [127.0, 0.5, 1.5, -2.5];
        for t in 0..TILE {
            dispatch::quantize(x, BLOCKS, ours, t);
            scalar::quantize::quantize(x, BLOCKS, theirs, t);
        }
        for b in 0..BLOCKS {
            let (ours, theirs, j) = (&ours[b / 2], &theirs[b / 2], b % 2);
            for t in 0..TILE {
                let bits = |x: [[f32; TILE]; 2]| x[j][t].to_bits();
                let sums = ours.sum[j][t] == theirs.sum[j][t];
                cases.outcome.value(ours.q[j][t] == theirs.q[j][t]);
                cases.outcome.value(bits(ours.d) == bits(theirs.d));
                cases.outcome.value(sums && bits(ours.s) == bits(theirs.s));
            }
        }
    }
    // What is not finite must be seen in the products: in the scale.
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        cases.random.fill(x, 1.0);
        x[9].0[2] = bad;
        dispatch::quantize(x, BLOCKS, ours, 0);
        let [first, second] = ours[0].d.map(|d| d[0].is_finite());
        cases.outcome.value(first && !second);
    }
    Ok(())
}

pub(super) fn rope(cases: &mut Cases<'_, '_>) -> Result<(), OutOfMemory> {
    for len in [2, 6, 16] {
        let x = cases.arena.slice(len * TOKENS)?;
        let [cos, sin] = [cases.arena.slice(len)?, cases.arena.slice(len)?];
        let [ours, theirs] = [cases.arena.slice(len)?, cases.arena.slice(len)?];
        cases.random.fill(x, 3.0);
        cases.random.fill(cos, 1.0);
        cases.random.fill(sin, 1.0);
        for style in [RopeStyle::Interleaved, RopeStyle::HalfSplit] {
            for t in 0..TOKENS {
                dispatch::rope(style, x, TOKENS, t, cos, sin, 0.125, ours);
                scalar::rope::rope(style, x, TOKENS, t, cos, sin, 0.125, theirs);
                cases.outcome.floats(ours, theirs);
            }
        }
    }
    Ok(())
}

pub(super) fn swiglu(cases: &mut Cases<'_, '_>) -> Result<(), OutOfMemory> {
    const LEN: usize = 512;
    let [ours, theirs] = [cases.arena.slice::<F32x4>(LEN)?, cases.arena.slice(LEN)?];
    let up = cases.arena.slice(LEN)?;
    for scale in [0.0, 1e-3, 1.0, 20.0, 100.0, 1e30] {
        cases.random.fill(ours, scale);
        cases.random.fill(up, 2.0);
        ours[0].0 = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0];
        theirs.copy_from_slice(ours);
        dispatch::swiglu(ours, up);
        scalar::elementwise::swiglu(theirs, up);
        cases.outcome.floats(ours, theirs);
    }
    Ok(())
}

pub(super) fn add_assign(cases: &mut Cases<'_, '_>) -> Result<(), OutOfMemory> {
    let [ours, theirs] = [cases.arena.slice::<F32x4>(33)?, cases.arena.slice(33)?];
    let y = cases.arena.slice(33)?;
    cases.random.fill(ours, 1.0);
    cases.random.fill(y, 1e-4);
    theirs.copy_from_slice(ours);
    dispatch::add_assign(ours, y);
    scalar::elementwise::add_assign(theirs, y);
    cases.outcome.floats(ours, theirs);
    Ok(())
}
