//! Two decoder layers put together from the kernels, against the same two layers in f64.

use super::attention::{Hold, as_f16, as_f32, as_int8};
use super::vectors::{EPS, HEAD_DIM, rms_scale, rotate, swiglu_exact, tables};
use super::{Accuracy, Spoil, fill};
use crate::activations::{Activations, FloatChunk};
use crate::arena::{Arena, Line, OutOfMemory};
use crate::dispatch;
use crate::lanes::{F32x4, flat};
use crate::matrix::{Error, Kernels};
use crate::scalar::attention::{KvF16, KvF32, KvI8, partial_len};
use crate::scalar::rope::RopeStyle;
use crate::{GgmlType, Matrix};

/// Three query heads of one KV head.
const HEADS: usize = 3;
const DIM: usize = HEADS * HEAD_DIM;
const HIDDEN_DIM: usize = 512;
const LAYERS: usize = 2;
const TOKENS: usize = 5;
const STYLE: RopeStyle = RopeStyle::Interleaved;
/// `1 − cosine`: equal to seven digits.
const LIMIT: f64 = 1e-7;

/// Rows and columns of a layer's matrices: q, k, v, output, gate, up, down.
const SHAPES: [(usize, usize); 7] = [
    (DIM, DIM),
    (HEAD_DIM, DIM),
    (HEAD_DIM, DIM),
    (DIM, DIM),
    (HIDDEN_DIM, DIM),
    (HIDDEN_DIM, DIM),
    (DIM, HIDDEN_DIM),
];

struct Layer<'a> {
    matrices: [Matrix<'a>; SHAPES.len()],
    /// The same weights, row by row.
    plain: [&'a [F32x4]; SHAPES.len()],
    norms: [&'a [F32x4]; 2],
}

pub(super) fn run(
    memory: &mut [Line],
    spoil: &mut Spoil<'_>,
    report: &mut dyn FnMut(Accuracy),
) -> Result<(), OutOfMemory> {
    let mut arena = Arena::new(memory);
    let mut layers = [const { None }; LAYERS];
    for (index, layer) in layers.iter_mut().enumerate() {
        *layer = Some(new_layer(&mut arena, index as u64)?);
    }
    let layers = layers
        .each_ref()
        .map(|layer| layer.as_ref().expect("made above"));
    let mut compare = |name, forward: Forward, hold: Hold| {
        report(check(&mut arena, &layers, spoil, name, forward, hold)?);
        Ok(())
    };
    compare("two layers", forward::<KvF32>, as_f32)?;
    compare("two layers f16 cache", forward::<KvF16>, as_f16)?;
    compare("two layers int8 cache", forward::<KvI8>, as_int8)
}

/// The layers by the kernels, token after token.
type Forward = fn(&mut Arena<'_>, &[&Layer<'_>; LAYERS], &mut [F32x4]) -> Result<(), OutOfMemory>;

/// The layers with a cache that keeps what `hold` leaves of a key or a value.
fn check(
    arena: &mut Arena<'_>,
    layers: &[&Layer<'_>; LAYERS],
    spoil: &mut Spoil<'_>,
    name: &'static str,
    forward: Forward,
    hold: Hold,
) -> Result<Accuracy, OutOfMemory> {
    let tokens = arena.slice::<F32x4>(TOKENS * DIM / 4)?;
    fill(tokens, 50, 1.0);
    let exact = arena.slice::<f64>(TOKENS * DIM)?;
    forward_exact(arena, layers, tokens, exact, hold)?;
    forward(arena, layers, tokens)?;
    spoil(name, tokens);

    let (mut dot, mut ours, mut theirs) = (0.0, 0.0, 0.0);
    for (&a, &b) in flat(tokens).iter().zip(exact.iter()) {
        let a = f64::from(a);
        dot += a * b;
        ours += a * a;
        theirs += b * b;
    }
    Ok(Accuracy {
        check: name,
        values: exact.len(),
        error: 1.0 - dot / libm::sqrt(ours * theirs),
        limit: LIMIT,
    })
}

fn new_layer<'a>(arena: &mut Arena<'a>, seed: u64) -> Result<Layer<'a>, OutOfMemory> {
    let mut matrices = [const { None }; SHAPES.len()];
    let mut plain: [&'a [F32x4]; SHAPES.len()] = [&[]; SHAPES.len()];
    for (index, &(rows, cols)) in SHAPES.iter().enumerate() {
        let weights = arena.slice::<F32x4>(rows * cols / 4)?;
        fill(
            weights,
            10 * seed + index as u64 + 1,
            1.7 / libm::sqrtf(cols as f32),
        );
        let bytes = arena.slice::<u8>(rows * cols * 4)?;
        for (bytes, weight) in bytes.chunks_exact_mut(4).zip(flat(weights)) {
            bytes.copy_from_slice(&weight.to_le_bytes());
        }
        let mut matrix = match Matrix::new(arena, GgmlType::F32, rows, cols) {
            Ok(matrix) => matrix,
            Err(Error::OutOfMemory(error)) => return Err(error),
            Err(error) => unreachable!("floats are supported: {error}"),
        };
        let packed = matrix.pack(0, bytes);
        assert_eq!(packed, Ok(()), "floats have no scales");
        matrices[index] = Some(matrix);
        plain[index] = weights;
    }
    let mut norms: [&'a [F32x4]; 2] = [&[]; 2];
    for (index, norm) in norms.iter_mut().enumerate() {
        let weights = arena.slice(DIM / 4)?;
        fill(weights, 90 + 2 * seed + index as u64, 1.5);
        *norm = weights;
    }
    Ok(Layer {
        matrices: matrices.map(|matrix| matrix.expect("made above")),
        plain,
        norms,
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
    layers: &[&Layer<'_>; LAYERS],
    tokens: &mut [F32x4],
) -> Result<(), OutOfMemory> {
    let head = HEAD_DIM / 4;
    let float1 = arena.slice::<FloatChunk<1>>(HIDDEN_DIM / 16)?;
    let (xb, q, out) = (
        arena.slice(DIM / 4)?,
        arena.slice(DIM / 4)?,
        arena.slice(DIM / 4)?,
    );
    let (k, v, key) = (arena.slice(head)?, arena.slice(head)?, arena.slice(head)?);
    let (gate, up) = (arena.slice(HIDDEN_DIM / 4)?, arena.slice(HIDDEN_DIM / 4)?);
    let (cos, sin) = (arena.slice(head)?, arena.slice(head)?);
    let queries = arena.slice::<F32x4>(DIM / 4)?;
    let partials = arena.slice::<F32x4>(HEADS * partial_len(HEAD_DIM))?;
    let unit_len = K::unit_len(HEAD_DIM);
    let units = arena.slice::<K::Lane>(LAYERS * unit_len)?;
    for (pos, x) in tokens.chunks_exact_mut(DIM / 4).enumerate() {
        tables(STYLE, pos, cos, sin);
        for (layer, unit) in layers.iter().zip(units.chunks_exact_mut(unit_len)) {
            let [wq, wk, wv, wo, w_gate, w_up, w_down] = &layer.matrices;
            dispatch::rms_norm(x, 1, 0, layer.norms[0], EPS, xb);
            multiply(wq, xb, float1, q);
            multiply(wk, xb, float1, k);
            multiply(wv, xb, float1, v);
            for (from, to) in q.chunks_exact(head).zip(queries.chunks_exact_mut(head)) {
                dispatch::rope(STYLE, from, 1, 0, cos, sin, 0.125, to);
            }
            dispatch::rope(STYLE, k, 1, 0, cos, sin, 1.0, key);
            dispatch::append::<K>(unit, pos, key, v, 1, 0);
            dispatch::attend::<K, HEADS>(queries, unit, [pos + 1; HEADS], partials);
            for (from, to) in partials
                .chunks_exact(partial_len(HEAD_DIM))
                .zip(q.chunks_exact_mut(head))
            {
                dispatch::merge(from, partial_len(HEAD_DIM), 1, to);
            }
            multiply(wo, q, float1, out);
            dispatch::add_assign(x, out);

            dispatch::rms_norm(x, 1, 0, layer.norms[1], EPS, xb);
            multiply(w_gate, xb, float1, gate);
            multiply(w_up, xb, float1, up);
            dispatch::swiglu(gate, up);
            multiply(w_down, gate, float1, out);
            dispatch::add_assign(x, out);
        }
    }
    Ok(())
}

/// The layers in f64.
fn forward_exact(
    arena: &mut Arena<'_>,
    layers: &[&Layer<'_>; LAYERS],
    tokens: &[F32x4],
    out: &mut [f64],
    hold: Hold,
) -> Result<(), OutOfMemory> {
    let [xb, q, y] = [
        arena.slice::<f64>(DIM)?,
        arena.slice(DIM)?,
        arena.slice(DIM)?,
    ];
    let [gate, up] = [arena.slice::<f64>(HIDDEN_DIM)?, arena.slice(HIDDEN_DIM)?];
    let keys = arena.slice::<f64>(LAYERS * TOKENS * HEAD_DIM)?;
    let values = arena.slice::<f64>(LAYERS * TOKENS * HEAD_DIM)?;
    out.iter_mut()
        .zip(flat(tokens))
        .for_each(|(out, &x)| *out = f64::from(x));
    for (pos, x) in out.chunks_exact_mut(DIM).enumerate() {
        for (l, layer) in layers.iter().enumerate() {
            let [wq, wk, wv, wo, w_gate, w_up, w_down] = layer.plain;
            let cache = l * TOKENS * HEAD_DIM..(l + 1) * TOKENS * HEAD_DIM;
            let (keys, values) = (&mut keys[cache.clone()], &mut values[cache]);
            let here = pos * HEAD_DIM..(pos + 1) * HEAD_DIM;
            norm_exact(x, layer.norms[0], xb);
            multiply_exact(wq, xb, q);
            multiply_exact(wk, xb, &mut keys[here.clone()]);
            multiply_exact(wv, xb, &mut values[here.clone()]);
            rotate(STYLE, pos, &mut keys[here.clone()]);
            hold(&mut keys[here.clone()]);
            hold(&mut values[here]);
            for query in q.chunks_exact_mut(HEAD_DIM) {
                rotate(STYLE, pos, query);
                attend_exact(query, &keys[..(pos + 1) * HEAD_DIM], values);
            }
            multiply_exact(wo, q, y);
            x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x += y);

            norm_exact(x, layer.norms[1], xb);
            multiply_exact(w_gate, xb, gate);
            multiply_exact(w_up, xb, up);
            gate.iter_mut()
                .zip(up.iter())
                .for_each(|(g, &u)| *g = swiglu_exact(*g, u));
            multiply_exact(w_down, gate, y);
            x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x += y);
        }
    }
    Ok(())
}

fn norm_exact(x: &[f64], weight: &[F32x4], out: &mut [f64]) {
    let scale = rms_scale(x.iter().copied());
    for ((out, &x), &w) in out.iter_mut().zip(x).zip(flat(weight)) {
        *out = x * scale * f64::from(w);
    }
}

fn multiply_exact(weights: &[F32x4], x: &[f64], out: &mut [f64]) {
    for (out, row) in out.iter_mut().zip(flat(weights).chunks_exact(x.len())) {
        *out = row.iter().zip(x).map(|(&w, &x)| f64::from(w) * x).sum();
    }
}

/// Replaces a query by what it gets.
fn attend_exact(query: &mut [f64], keys: &[f64], values: &[f64]) {
    let mut weights = [0.0; TOKENS];
    for (weight, key) in weights.iter_mut().zip(keys.chunks_exact(HEAD_DIM)) {
        let score: f64 = query.iter().zip(key).map(|(q, k)| q * k).sum();
        *weight = libm::exp(score * 0.125);
    }
    let total: f64 = weights.iter().sum();
    for (d, out) in query.iter_mut().enumerate() {
        let sum: f64 = weights
            .iter()
            .zip(values.chunks_exact(HEAD_DIM))
            .map(|(w, value)| w * value[d])
            .sum();
        *out = sum / total;
    }
}
