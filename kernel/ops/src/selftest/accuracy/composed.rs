//! Two decoder layers put together from the kernels, against the same two layers in f64.

use super::exact::{self, EPS, HEAD_DIM, Hold, exact, rms_scale, rotate, tables, widened};
use super::{Checks, Worst, fill};
use crate::activations::{Activations, FloatChunk};
use crate::arena::{Arena, OutOfMemory};
use crate::dispatch;
use crate::lanes::{F32x4, flat};
use crate::matrix::Kernels;
use crate::scalar::attention::{KvF16, KvF32, KvI8, partial_len};
use crate::scalar::rope::RopeStyle;
use crate::selftest::inputs::new_matrix;
use crate::{GgmlType, Matrix};
use zerocopy::IntoBytes;

/// Three query heads of one KV head.
const HEADS: usize = 3;
const DIM: usize = HEADS * HEAD_DIM;
const HIDDEN_DIM: usize = 512;
const LAYERS: usize = 2;
const TOKENS: usize = 5;
const STYLE: RopeStyle = RopeStyle::Interleaved;
/// `1 / √HEAD_DIM`.
const QUERY_SCALE: f32 = 0.125;
/// `1 − cosine`: equal to seven digits.
const LIMIT: f64 = 1e-7;

struct Layer<'a> {
    wq: Matrix<'a>,
    wk: Matrix<'a>,
    wv: Matrix<'a>,
    wo: Matrix<'a>,
    w_gate: Matrix<'a>,
    w_up: Matrix<'a>,
    w_down: Matrix<'a>,
    norms: [&'a [F32x4]; 2],
}

pub(super) fn run(checks: &mut Checks<'_>) -> Result<(), OutOfMemory> {
    let caches: [(_, Forward, Hold); 3] = [
        ("two layers", forward::<KvF32>, exact::as_f32),
        ("two layers f16 cache", forward::<KvF16>, exact::as_f16),
        ("two layers int8 cache", forward::<KvI8>, exact::as_int8),
    ];
    for (name, forward, hold) in caches {
        checks.check(name, LIMIT, |arena, worst| {
            check(arena, worst, forward, hold)
        })?;
    }
    Ok(())
}

/// The layers by the kernels, token after token.
type Forward = fn(&mut Arena<'_>, &[Layer<'_>; LAYERS], &mut [F32x4]) -> Result<(), OutOfMemory>;

/// The layers with a cache that keeps what `hold` leaves of a key or a value.
fn check(
    arena: &mut Arena<'_>,
    worst: &mut Worst<'_>,
    forward: Forward,
    hold: Hold,
) -> Result<(), OutOfMemory> {
    let layers = [new_layer(arena, 0)?, new_layer(arena, 1)?];
    let tokens = arena.slice::<F32x4>(TOKENS * DIM / 4)?;
    fill(tokens, 50, 1.0);
    let exact = widened(arena, tokens)?;
    forward_exact(arena, &layers, exact, hold)?;
    forward(arena, &layers, tokens)?;
    worst.spoil(tokens);

    let (mut dot, mut ours, mut theirs) = (0.0, 0.0, 0.0);
    for (&a, &b) in flat(tokens).iter().zip(exact.iter()) {
        let a = f64::from(a);
        dot += a * b;
        ours += a * a;
        theirs += b * b;
    }
    worst.outcome.values = exact.len() as u64;
    worst.outcome.error = 1.0 - dot / libm::sqrt(ours * theirs);
    worst.magnitude = 1.0;
    Ok(())
}

fn new_layer<'a>(arena: &mut Arena<'a>, layer: u64) -> Result<Layer<'a>, OutOfMemory> {
    let mut seed = 10 * layer;
    let mut matrix = |rows, cols| {
        seed += 1;
        let weights = arena.slice::<F32x4>(rows * cols / 4)?;
        fill(weights, seed, 1.7 / libm::sqrtf(cols as f32));
        let mut matrix = new_matrix(arena, GgmlType::F32, rows, cols)?;
        let packed = matrix.pack(0, weights.as_bytes());
        assert_eq!(packed, Ok(()), "floats have no scales");
        Ok(matrix)
    };
    Ok(Layer {
        wq: matrix(DIM, DIM)?,
        wk: matrix(HEAD_DIM, DIM)?,
        wv: matrix(HEAD_DIM, DIM)?,
        wo: matrix(DIM, DIM)?,
        w_gate: matrix(HIDDEN_DIM, DIM)?,
        w_up: matrix(HIDDEN_DIM, DIM)?,
        w_down: matrix(DIM, HIDDEN_DIM)?,
        norms: {
            let norms = arena.slice(2 * DIM / 4)?;
            let (first, second) = norms.split_at_mut(DIM / 4);
            fill(first, 90 + 2 * layer, 1.5);
            fill(second, 91 + 2 * layer, 1.5);
            [first, second]
        },
    })
}

/// `out = W · x`.
fn multiply(matrix: &Matrix<'_>, x: &[F32x4], float1: &mut [FloatChunk<1>], out: &mut [F32x4]) {
    dispatch::copy_floats::<1>(x, float1, 0);
    let x = Activations {
        n_tokens: 1,
        quant1: &[],
        quant4: &[],
        float1: &float1[..x.len() / 4],
        float4: &[],
    };
    matrix.mul(Kernels::Int8, &x, 0..matrix.groups(), out);
}

fn forward<K: dispatch::KvKernels>(
    arena: &mut Arena<'_>,
    layers: &[Layer<'_>; LAYERS],
    tokens: &mut [F32x4],
) -> Result<(), OutOfMemory> {
    let (head, dim, hidden_dim) = (HEAD_DIM / 4, DIM / 4, HIDDEN_DIM / 4);
    let float1 = arena.slice::<FloatChunk<1>>(HIDDEN_DIM / 16)?;
    let [xb, q, out] = [arena.slice(dim)?, arena.slice(dim)?, arena.slice(dim)?];
    let [k, v, key] = [arena.slice(head)?, arena.slice(head)?, arena.slice(head)?];
    let [gate, up] = [arena.slice(hidden_dim)?, arena.slice(hidden_dim)?];
    let [cos, sin] = [arena.slice(head)?, arena.slice(head)?];
    let queries = arena.slice::<F32x4>(dim)?;
    let partials = arena.slice::<F32x4>(HEADS * partial_len(HEAD_DIM))?;
    let unit_len = K::unit_len(HEAD_DIM);
    let units = arena.slice::<K::Lane>(LAYERS * unit_len)?;
    for (pos, x) in tokens.chunks_exact_mut(dim).enumerate() {
        tables(STYLE, pos, cos, sin);
        for (layer, unit) in layers.iter().zip(units.chunks_exact_mut(unit_len)) {
            dispatch::rms_norm(x, 1, 0, layer.norms[0], EPS, xb);
            multiply(&layer.wq, xb, float1, q);
            multiply(&layer.wk, xb, float1, k);
            multiply(&layer.wv, xb, float1, v);
            for (from, to) in q.chunks_exact(head).zip(queries.chunks_exact_mut(head)) {
                dispatch::rope(STYLE, from, 1, 0, cos, sin, QUERY_SCALE, to);
            }
            dispatch::rope(STYLE, k, 1, 0, cos, sin, 1.0, key);
            dispatch::append::<K>(unit, pos, key, v, 1, 0);
            dispatch::attend::<K, HEADS>(queries, unit, [pos + 1; HEADS], partials);
            let partials = partials.chunks_exact(partial_len(HEAD_DIM));
            for (from, to) in partials.zip(q.chunks_exact_mut(head)) {
                dispatch::merge(from, partial_len(HEAD_DIM), 1, to);
            }
            multiply(&layer.wo, q, float1, out);
            dispatch::add_assign(x, out);

            dispatch::rms_norm(x, 1, 0, layer.norms[1], EPS, xb);
            multiply(&layer.w_gate, xb, float1, gate);
            multiply(&layer.w_up, xb, float1, up);
            dispatch::swiglu(gate, up);
            multiply(&layer.w_down, gate, float1, out);
            dispatch::add_assign(x, out);
        }
    }
    Ok(())
}

/// The layers in f64.
fn forward_exact(
    arena: &mut Arena<'_>,
    layers: &[Layer<'_>; LAYERS],
    tokens: &mut [f64],
    hold: Hold,
) -> Result<(), OutOfMemory> {
    let [xb, q, y] = [arena.slice(DIM)?, arena.slice(DIM)?, arena.slice(DIM)?];
    let [gate, up] = [arena.slice(HIDDEN_DIM)?, arena.slice(HIDDEN_DIM)?];
    let keys = arena.slice::<f64>(LAYERS * TOKENS * HEAD_DIM)?;
    let values = arena.slice::<f64>(LAYERS * TOKENS * HEAD_DIM)?;
    let row = arena.slice(HIDDEN_DIM / 4)?;
    let mut multiply = |matrix: &Matrix<'_>, x: &[f64], out: &mut [f64]| {
        let row = &mut row[..x.len() / 4];
        for (r, out) in out.iter_mut().enumerate() {
            matrix.read_row(r, 0, row);
            *out = exact(row).zip(x).map(|(w, x)| w * x).sum();
        }
    };
    for (pos, x) in tokens.chunks_exact_mut(DIM).enumerate() {
        for (l, layer) in layers.iter().enumerate() {
            let cache = l * TOKENS * HEAD_DIM..(l + 1) * TOKENS * HEAD_DIM;
            let (keys, values) = (&mut keys[cache.clone()], &mut values[cache]);
            let (keys, values) = (&mut keys[..(pos + 1) * HEAD_DIM], values);
            let here = pos * HEAD_DIM..(pos + 1) * HEAD_DIM;
            norm(x, layer.norms[0], xb);
            multiply(&layer.wq, xb, q);
            multiply(&layer.wk, xb, &mut keys[here.clone()]);
            multiply(&layer.wv, xb, &mut values[here.clone()]);
            rotate(STYLE, pos, &mut keys[here.clone()]);
            hold(&mut keys[here.clone()]);
            hold(&mut values[here]);
            for query in q.chunks_exact_mut(HEAD_DIM) {
                rotate(STYLE, pos, query);
                query.iter_mut().for_each(|q| *q *= f64::from(QUERY_SCALE));
                exact::attend(query, keys, values);
            }
            multiply(&layer.wo, q, y);
            x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x += y);

            norm(x, layer.norms[1], xb);
            multiply(&layer.w_gate, xb, gate);
            multiply(&layer.w_up, xb, up);
            for (gate, &up) in gate.iter_mut().zip(up.iter()) {
                *gate = exact::swiglu(*gate, up);
            }
            multiply(&layer.w_down, gate, y);
            x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x += y);
        }
    }
    Ok(())
}

/// RMSNorm in f64.
fn norm(x: &[f64], weight: &[F32x4], out: &mut [f64]) {
    let scale = rms_scale(x.iter().copied());
    for ((out, &x), w) in out.iter_mut().zip(x).zip(exact(weight)) {
        *out = x * scale * w;
    }
}
