//! Norms, rotations and activations.

use super::exact::{self, EPS, HEAD_DIM, exact, rms_scale, rotate, tables, widened};
use super::{Checks, Worst, fill};
use crate::arena::{Arena, OutOfMemory};
use crate::dispatch;
use crate::lanes::F32x4;
use crate::scalar::attention::{BLOCK, KvF32, partial_len, unit_len};
use crate::scalar::rope::RopeStyle;

/// SmolLM2-135M: width, hidden width.
const DIM: usize = 576;
const HIDDEN_DIM: usize = 1536;
const LIMIT: f64 = 1e-6;

pub(super) fn run(checks: &mut Checks<'_>) -> Result<(), OutOfMemory> {
    checks.check("rms_norm", LIMIT, rms_norm)?;
    let styles = [
        ("rope interleaved", RopeStyle::Interleaved),
        ("rope half-split", RopeStyle::HalfSplit),
    ];
    for (name, style) in styles {
        checks.check(name, LIMIT, |arena, worst| rope(arena, worst, style))?;
    }
    checks.check("swiglu", LIMIT, swiglu)?;
    checks.check("add", LIMIT, add)?;
    checks.check("softmax", LIMIT, softmax)
}

fn rms_norm(arena: &mut Arena<'_>, worst: &mut Worst<'_>) -> Result<(), OutOfMemory> {
    let [x, weight] = [arena.slice::<F32x4>(DIM / 4)?, arena.slice(DIM / 4)?];
    let out = arena.slice(DIM / 4)?;
    fill(x, 1, 3.0);
    fill(weight, 2, 2.0);
    dispatch::rms_norm(x, 1, 0, weight, EPS, out);
    let scale = rms_scale(exact(x));
    worst.lanes(out, exact(x).zip(exact(weight)).map(|(x, w)| x * scale * w));
    Ok(())
}

fn rope(arena: &mut Arena<'_>, worst: &mut Worst<'_>, style: RopeStyle) -> Result<(), OutOfMemory> {
    const SCALE: f32 = 0.125;
    let lanes = HEAD_DIM / 4;
    let [x, out] = [arena.slice::<F32x4>(lanes)?, arena.slice(lanes)?];
    let [cos, sin] = [arena.slice(lanes)?, arena.slice(lanes)?];
    for pos in [0, 1, 77, 2047] {
        fill(x, pos as u64 + 1, 2.0);
        tables(style, pos, cos, sin);
        dispatch::rope(style, x, 1, 0, cos, sin, SCALE, out);
        let rotated = widened(arena, x)?;
        rotate(style, pos, rotated);
        worst.lanes(out, rotated.iter().map(|x| x * f64::from(SCALE)));
    }
    Ok(())
}

fn swiglu(arena: &mut Arena<'_>, worst: &mut Worst<'_>) -> Result<(), OutOfMemory> {
    let len = HIDDEN_DIM / 4;
    let [gate, up] = [arena.slice::<F32x4>(len)?, arena.slice(len)?];
    let out = arena.slice(len)?;
    fill(gate, 5, 12.0);
    fill(up, 6, 2.0);
    out.copy_from_slice(gate);
    dispatch::swiglu(out, up);
    let pairs = exact(gate).zip(exact(up));
    worst.lanes(out, pairs.map(|(gate, up)| exact::swiglu(gate, up)));
    Ok(())
}

fn add(arena: &mut Arena<'_>, worst: &mut Worst<'_>) -> Result<(), OutOfMemory> {
    let [x, y] = [arena.slice::<F32x4>(DIM / 4)?, arena.slice(DIM / 4)?];
    let out = arena.slice(DIM / 4)?;
    fill(x, 7, 2.0);
    fill(y, 8, 2.0);
    out.copy_from_slice(x);
    dispatch::add_assign(out, y);
    worst.lanes(out, exact(x).zip(exact(y)).map(|(x, y)| x + y));
    Ok(())
}

/// With the unit vectors as values, attention to one block gives the softmax itself.
fn softmax(arena: &mut Arena<'_>, worst: &mut Worst<'_>) -> Result<(), OutOfMemory> {
    let lanes = HEAD_DIM / 4;
    let unit = arena.slice(unit_len(HEAD_DIM))?;
    let [key, value] = [arena.slice::<F32x4>(lanes)?, arena.slice(lanes)?];
    let [query, out] = [arena.slice::<F32x4>(lanes)?, arena.slice(lanes)?];
    let partial = arena.slice(partial_len(HEAD_DIM))?;
    query[0].0[0] = 1.0;
    let mut scores = [0.0; BLOCK];
    for at in 0..BLOCK {
        key.fill(F32x4::ZERO);
        value.fill(F32x4::ZERO);
        let score = at as f32 * 0.37 % 9.0 - 3.0;
        key[0].0[0] = score;
        value[at / 4].0[at % 4] = 1.0;
        dispatch::append::<KvF32>(unit, at, key, value, 1, 0);
        scores[at] = f64::from(score);
    }
    dispatch::attend::<KvF32, 1>(query, unit, [BLOCK], partial);
    dispatch::merge(partial, partial_len(HEAD_DIM), 1, out);
    let total: f64 = scores.iter().map(|&s| libm::exp(s)).sum();
    worst.lanes(out, scores.iter().map(|&s| libm::exp(s) / total));
    Ok(())
}
