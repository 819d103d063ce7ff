//! Norms, rotations and activations.

use super::{Accuracy, Spoil, Worst, fill};
use crate::arena::{Arena, Line, OutOfMemory};
use crate::dispatch;
use crate::lanes::{F32x4, flat};
use crate::scalar::attention::{BLOCK, KvF32, partial_len, unit_len};
use crate::scalar::rope::RopeStyle;

/// SmolLM2-135M: width, hidden width, width of a head.
const DIM: usize = 576;
const HIDDEN_DIM: usize = 1536;
pub(super) const HEAD_DIM: usize = 64;
const LIMIT: f64 = 1e-6;
pub(super) const EPS: f32 = 1e-5;

pub(super) fn run(
    memory: &mut [Line],
    spoil: &mut Spoil<'_>,
    report: &mut dyn FnMut(Accuracy),
) -> Result<(), OutOfMemory> {
    report(rms_norm(Arena::new(memory), spoil)?);
    let rope_checks = [
        ("rope interleaved", RopeStyle::Interleaved),
        ("rope half-split", RopeStyle::HalfSplit),
    ];
    for (name, style) in rope_checks {
        report(rope(Arena::new(memory), spoil, name, style)?);
    }
    report(swiglu(Arena::new(memory), spoil)?);
    report(add(Arena::new(memory), spoil)?);
    report(softmax(Arena::new(memory), spoil)?);
    Ok(())
}

fn exact(x: &[F32x4]) -> impl Iterator<Item = f64> + Clone + '_ {
    flat(x).iter().map(|&x| f64::from(x))
}

fn rms_norm(mut arena: Arena<'_>, spoil: &mut Spoil<'_>) -> Result<Accuracy, OutOfMemory> {
    const NAME: &str = "rms_norm";
    let (x, weight) = (arena.slice::<F32x4>(DIM / 4)?, arena.slice(DIM / 4)?);
    let out = arena.slice(DIM / 4)?;
    fill(x, 1, 3.0);
    fill(weight, 2, 2.0);
    dispatch::rms_norm(x, 1, 0, weight, EPS, out);
    spoil(NAME, out);
    let scale = rms_scale(exact(x));
    let mut worst = Worst::new();
    worst.lanes(out, exact(x).zip(exact(weight)).map(|(x, w)| x * scale * w));
    Ok(worst.report(NAME, LIMIT))
}

/// `1 / √(mean(x²) + eps)`.
pub(super) fn rms_scale(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = x.clone().count() as f64;
    let mean = x.map(|x| x * x).sum::<f64>() / n;
    1.0 / libm::sqrt(mean + f64::from(EPS))
}

/// The angle of pair `i` at position `pos`.
pub(super) fn angle(pos: usize, i: usize) -> f64 {
    const THETA: f64 = 100_000.0;
    pos as f64 * libm::pow(THETA, -2.0 * i as f64 / HEAD_DIM as f64)
}

/// The tables that [`dispatch::rope`] takes, for one position.
pub(super) fn tables(style: RopeStyle, pos: usize, cos: &mut [F32x4], sin: &mut [F32x4]) {
    for i in 0..HEAD_DIM / 2 {
        let (c, s) = (
            libm::cos(angle(pos, i)) as f32,
            libm::sin(angle(pos, i)) as f32,
        );
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

/// Rotates a head in f64.
pub(super) fn rotate(style: RopeStyle, pos: usize, x: &mut [f64]) {
    for i in 0..HEAD_DIM / 2 {
        let (a, b) = match style {
            RopeStyle::Interleaved => (2 * i, 2 * i + 1),
            RopeStyle::HalfSplit => (i, i + HEAD_DIM / 2),
        };
        let (c, s) = (libm::cos(angle(pos, i)), libm::sin(angle(pos, i)));
        (x[a], x[b]) = (x[a] * c - x[b] * s, x[b] * c + x[a] * s);
    }
}

fn rope(
    mut arena: Arena<'_>,
    spoil: &mut Spoil<'_>,
    name: &'static str,
    style: RopeStyle,
) -> Result<Accuracy, OutOfMemory> {
    const SCALE: f32 = 0.125;
    let lanes = HEAD_DIM / 4;
    let (x, out) = (arena.slice::<F32x4>(lanes)?, arena.slice(lanes)?);
    let (cos, sin) = (arena.slice(lanes)?, arena.slice(lanes)?);
    let mut worst = Worst::new();
    for pos in [0, 1, 77, 2047] {
        fill(x, pos as u64 + 1, 2.0);
        tables(style, pos, cos, sin);
        dispatch::rope(style, x, 1, 0, cos, sin, SCALE, out);
        spoil(name, out);
        let mut rotated = [0.0; HEAD_DIM];
        rotated.iter_mut().zip(exact(x)).for_each(|(r, x)| *r = x);
        rotate(style, pos, &mut rotated);
        worst.lanes(out, rotated.into_iter().map(|x| x * f64::from(SCALE)));
    }
    Ok(worst.report(name, LIMIT))
}

/// `g / (1 + e^−g) · u`.
pub(super) fn swiglu_exact(gate: f64, up: f64) -> f64 {
    gate / (1.0 + libm::exp(-gate)) * up
}

fn swiglu(mut arena: Arena<'_>, spoil: &mut Spoil<'_>) -> Result<Accuracy, OutOfMemory> {
    const NAME: &str = "swiglu";
    let (gate, up) = (
        arena.slice::<F32x4>(HIDDEN_DIM / 4)?,
        arena.slice(HIDDEN_DIM / 4)?,
    );
    let out = arena.slice(HIDDEN_DIM / 4)?;
    fill(gate, 5, 12.0);
    fill(up, 6, 2.0);
    out.copy_from_slice(gate);
    dispatch::swiglu(out, up);
    spoil(NAME, out);
    let mut worst = Worst::new();
    worst.lanes(
        out,
        exact(gate).zip(exact(up)).map(|(g, u)| swiglu_exact(g, u)),
    );
    Ok(worst.report(NAME, LIMIT))
}

fn add(mut arena: Arena<'_>, spoil: &mut Spoil<'_>) -> Result<Accuracy, OutOfMemory> {
    const NAME: &str = "add";
    let (x, y) = (arena.slice::<F32x4>(DIM / 4)?, arena.slice(DIM / 4)?);
    let out = arena.slice(DIM / 4)?;
    fill(x, 7, 2.0);
    fill(y, 8, 2.0);
    out.copy_from_slice(x);
    dispatch::add_assign(out, y);
    spoil(NAME, out);
    let mut worst = Worst::new();
    worst.lanes(out, exact(x).zip(exact(y)).map(|(x, y)| x + y));
    Ok(worst.report(NAME, LIMIT))
}

/// With the unit vectors as values, attention to one block gives the softmax itself.
fn softmax(mut arena: Arena<'_>, spoil: &mut Spoil<'_>) -> Result<Accuracy, OutOfMemory> {
    const NAME: &str = "softmax";
    let lanes = HEAD_DIM / 4;
    let unit = arena.slice(unit_len(HEAD_DIM))?;
    let (key, value) = (arena.slice::<F32x4>(lanes)?, arena.slice::<F32x4>(lanes)?);
    let (query, out) = (arena.slice::<F32x4>(lanes)?, arena.slice(lanes)?);
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
    spoil(NAME, out);
    let total: f64 = scores.iter().map(|&s| libm::exp(s)).sum();
    let mut worst = Worst::new();
    worst.lanes(out, scores.iter().map(|&s| libm::exp(s) / total));
    Ok(worst.report(NAME, LIMIT))
}
