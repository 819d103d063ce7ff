//! How far the kernels are from the same computation in f64, on the shapes of SmolLM2-135M.
//!
//! The kernels come in by [`Kernels`], so that a test can plant an error and see it found.

use super::random::Random;
use crate::activations::{Activations, FloatChunk, QuantPair, TILE};
use crate::arena::{Arena, OutOfMemory};
use crate::lanes::{F16x8, F32x4, flat};
use crate::parallel::Serial;
use crate::scalar::attention::{BLOCK, KvF16, KvFormat, partial_len, unit_len};
use crate::scalar::rope::RopeStyle;
use crate::{GgmlType, Matrix, dispatch};

const DIM: usize = 576;
const HIDDEN_DIM: usize = 1536;
const HEAD_DIM: usize = 64;
/// Query heads that share a KV head.
const GROUP_HEADS: usize = 3;
/// Rows of a matrix that are tried: a kernel does the same to every group.
const ROWS: usize = 48;
const EPS: f32 = 1e-5;

/// What one kernel's error came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The kernel.
    pub kernel: &'static str,
    /// Largest error of a value, as a part of the largest value.
    pub error: f64,
    /// What a right kernel stays below.
    pub limit: f64,
}

impl Accuracy {
    /// Whether the kernel is right. (An error that is no number is no pass.)
    pub fn is_pass(&self) -> bool {
        self.error <= self.limit
    }
}

/// The kernels under test.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "named as in `dispatch`")]
pub struct Kernels {
    pub mul: fn(&Matrix<'_>, &Activations<'_>, &mut [F32x4]),
    pub rms_norm: fn(&[F32x4], &[F32x4], &mut [F32x4]),
    pub rope: fn(&[F32x4], &[F32x4], &[F32x4], &mut [F32x4]),
    pub swiglu: fn(&mut [F32x4], &[F32x4]),
    pub attend: fn(&[F32x4], &[F16x8], usize, &mut [F32x4]),
    pub merge: fn(&[F32x4], usize, usize, &mut [F32x4]),
}

impl Kernels {
    /// The ones that the engine runs.
    pub const NATIVE: Kernels = Kernels {
        mul: |w, x, out| w.mul(x, 0..w.groups(), out),
        rms_norm: |x, weight, out| dispatch::rms_norm(x, 1, 0, weight, EPS, out),
        rope: |x, cos, sin, out| {
            dispatch::rope(RopeStyle::Interleaved, x, 1, 0, cos, sin, 1.0, out);
        },
        swiglu: dispatch::swiglu,
        attend: |queries, unit, n, out| {
            dispatch::attend::<KvF16, GROUP_HEADS>(queries, unit, [n; GROUP_HEADS], out);
        },
        merge: dispatch::merge,
    };
}

/// Measures every kernel and reports each.
///
/// # Errors
/// [`OutOfMemory`] when `arena` has less than [`ARENA_BYTES`](super::ARENA_BYTES).
pub fn run(
    mut arena: Arena<'_>,
    kernels: &Kernels,
    report: &mut dyn FnMut(Accuracy),
) -> Result<(), OutOfMemory> {
    let arena = &mut arena;
    for (kernel, ggml_type) in [
        ("gemv f32", GgmlType::F32),
        ("gemv f16", GgmlType::F16),
        ("gemv q8_0", GgmlType::Q8_0),
    ] {
        let narrow = mul(arena, kernels, ggml_type, DIM, 1)?;
        let wide = mul(arena, kernels, ggml_type, HIDDEN_DIM, 1)?;
        let tile = mul(arena, kernels, ggml_type, HIDDEN_DIM, TILE)?;
        report(Accuracy {
            kernel,
            error: narrow.max(wide).max(tile),
            limit: 2e-6,
        });
    }
    report(Accuracy {
        kernel: "rms_norm",
        error: rms_norm(arena, kernels)?,
        limit: 1e-6,
    });
    report(Accuracy {
        kernel: "rope",
        error: rope(arena, kernels)?,
        limit: 1e-6,
    });
    report(Accuracy {
        kernel: "swiglu",
        error: swiglu(arena, kernels)?,
        limit: 1e-6,
    });
    let (softmax, attention) = attention(arena, kernels)?;
    report(Accuracy {
        kernel: "softmax",
        error: softmax,
        limit: 1e-6,
    });
    report(Accuracy {
        kernel: "attention",
        error: attention,
        limit: 1e-6,
    });
    Ok(())
}

/// Largest difference of `ours` from `truth`, as a part of the largest magnitude of `truth`.
fn error(ours: impl Iterator<Item = f32>, truth: impl Iterator<Item = f64>) -> f64 {
    let (mut worst, mut largest) = (0.0, f64::MIN_POSITIVE);
    for (ours, truth) in ours.zip(truth) {
        let difference = (f64::from(ours) - truth).abs();
        // Written so that a NaN stays.
        worst = if difference <= worst {
            worst
        } else {
            difference
        };
        largest = if truth.abs() > largest {
            truth.abs()
        } else {
            largest
        };
    }
    worst / largest
}

fn mul(
    arena: &mut Arena<'_>,
    kernels: &Kernels,
    ggml_type: GgmlType,
    cols: usize,
    n_tokens: usize,
) -> Result<f64, OutOfMemory> {
    let mut random = Random::new(cols as u64);
    let Ok(mut matrix) = Matrix::new(arena, ggml_type, ROWS, cols) else {
        return Ok(f64::NAN);
    };
    let bytes = arena.slice::<u8>(ROWS * matrix.file_row_bytes())?;
    for block in bytes.chunks_exact_mut(ggml_type.block_bytes()) {
        match ggml_type {
            GgmlType::F32 => block.copy_from_slice(&random.unit().to_le_bytes()),
            GgmlType::F16 => {
                let half = crate::float::f32_to_f16(random.unit());
                block.copy_from_slice(&half.to_le_bytes());
            }
            _ => {
                block.fill_with(|| (random.unit() * 127.0) as i8 as u8);
                let scale = crate::float::f32_to_f16(0.01 + 0.001 * random.unit());
                block[..2].copy_from_slice(&scale.to_le_bytes());
            }
        }
    }
    if matrix.pack(0, bytes, &Serial::new()).is_err() {
        return Ok(f64::NAN);
    }
    let vectors = arena.slice::<F32x4>(cols / 4 * n_tokens)?;
    random.fill(vectors, 1.0);
    let quant1 = arena.slice::<QuantPair<1>>(cols / 64)?;
    let quant4 = arena.slice::<QuantPair<TILE>>(cols / 64)?;
    let float1 = arena.slice::<FloatChunk<1>>(cols / 16)?;
    let float4 = arena.slice::<FloatChunk<TILE>>(cols / 16)?;
    for (t, vector) in vectors.chunks_exact(cols / 4).enumerate() {
        dispatch::quantize(vector, cols / 32, quant4, t);
        dispatch::copy_floats(vector, float4, t);
        if n_tokens == 1 {
            dispatch::quantize(vector, cols / 32, quant1, 0);
            dispatch::copy_floats(vector, float1, 0);
        }
    }
    let ours = arena.slice::<F32x4>(matrix.groups() * n_tokens)?;
    let x = Activations {
        n_tokens,
        quant1,
        quant4,
        float1,
        float4,
    };
    (kernels.mul)(&matrix, &x, ours);

    let row = arena.slice::<F32x4>(cols / 4)?;
    let truth = arena.slice::<f64>(ROWS * n_tokens)?;
    for r in 0..ROWS {
        matrix.read_row(r, 0, row);
        for t in 0..n_tokens {
            let vector = flat(&vectors[t * cols / 4..][..cols / 4]);
            truth[r * n_tokens + t] = (0..cols)
                .map(|i| {
                    let (pair, j) = (&quant4[i / 64], i / 32 % 2);
                    let x = if ggml_type == GgmlType::Q8_0 {
                        f64::from(pair.d[j][t]) * f64::from(pair.q[j][t][i % 32])
                    } else {
                        f64::from(vector[i])
                    };
                    x * f64::from(flat(row)[i])
                })
                .sum();
        }
    }
    let place = |r: usize, t: usize| ours[r / 4 * n_tokens + t].0[r % 4];
    let ours = (0..ROWS * n_tokens).map(|i| place(i / n_tokens, i % n_tokens));
    Ok(error(ours, truth.iter().copied()))
}

fn rms_norm(arena: &mut Arena<'_>, kernels: &Kernels) -> Result<f64, OutOfMemory> {
    let mut random = Random::new(11);
    let (x, weight) = (arena.slice(DIM / 4)?, arena.slice(DIM / 4)?);
    let out = arena.slice(DIM / 4)?;
    random.fill(x, 3.0);
    random.fill(weight, 2.0);
    (kernels.rms_norm)(x, weight, out);
    let squares: f64 = flat(x).iter().map(|&v| f64::from(v) * f64::from(v)).sum();
    let scale = 1.0 / libm::sqrt(squares / DIM as f64 + f64::from(EPS));
    let truth = flat(x)
        .iter()
        .zip(flat(weight))
        .map(|(&x, &w)| f64::from(x) * scale * f64::from(w));
    Ok(error(flat(out).iter().copied(), truth))
}

fn rope(arena: &mut Arena<'_>, kernels: &Kernels) -> Result<f64, OutOfMemory> {
    let mut random = Random::new(12);
    let x = arena.slice(HEAD_DIM / 4)?;
    let (cos, sin) = (
        arena.slice::<F32x4>(HEAD_DIM / 4)?,
        arena.slice::<F32x4>(HEAD_DIM / 4)?,
    );
    let out = arena.slice(HEAD_DIM / 4)?;
    random.fill(x, 3.0);
    let angle = |pair: usize| 0.37 * pair as f64;
    for (g, (cos, sin)) in cos.iter_mut().zip(sin.iter_mut()).enumerate() {
        for i in 0..4 {
            let angle = angle(2 * g + i / 2);
            let sign = if i % 2 == 0 { -1.0 } else { 1.0 };
            cos.0[i] = libm::cos(angle) as f32;
            sin.0[i] = (sign * libm::sin(angle)) as f32;
        }
    }
    (kernels.rope)(x, cos, sin, out);
    let truth = (0..HEAD_DIM).map(|i| {
        let (a, b) = (f64::from(flat(x)[i & !1]), f64::from(flat(x)[i | 1]));
        let (c, s) = (libm::cos(angle(i / 2)), libm::sin(angle(i / 2)));
        if i % 2 == 0 {
            a * c - b * s
        } else {
            b * c + a * s
        }
    });
    Ok(error(flat(out).iter().copied(), truth))
}

fn swiglu(arena: &mut Arena<'_>, kernels: &Kernels) -> Result<f64, OutOfMemory> {
    let mut random = Random::new(13);
    let (gate, up) = (arena.slice(HIDDEN_DIM / 4)?, arena.slice(HIDDEN_DIM / 4)?);
    let ours = arena.slice::<F32x4>(HIDDEN_DIM / 4)?;
    random.fill(gate, 8.0);
    random.fill(up, 2.0);
    ours.copy_from_slice(gate);
    (kernels.swiglu)(ours, up);
    let truth = flat(gate).iter().zip(flat(up)).map(|(&g, &u)| {
        let g = f64::from(g);
        g / (1.0 + libm::exp(-g)) * f64::from(u)
    });
    Ok(error(flat(ours).iter().copied(), truth))
}

/// Grouped queries over two blocks, the second not full: errors of the weights' sum and of the output.
fn attention(arena: &mut Arena<'_>, kernels: &Kernels) -> Result<(f64, f64), OutOfMemory> {
    const POSITIONS: usize = BLOCK + 23;
    const LANES: usize = HEAD_DIM / 4;
    const LEN: usize = partial_len(HEAD_DIM);
    let mut random = Random::new(14);
    let queries = arena.slice::<F32x4>(GROUP_HEADS * LANES)?;
    random.fill(queries, 0.4);
    let units = arena.slice::<F16x8>(2 * unit_len(HEAD_DIM))?;
    let (key, value) = (arena.slice(LANES)?, arena.slice(LANES)?);
    let keys = arena.slice::<f32>(POSITIONS * HEAD_DIM)?;
    let values = arena.slice::<f32>(POSITIONS * HEAD_DIM)?;
    for position in 0..POSITIONS {
        random.fill(key, 2.0);
        random.fill(value, 2.0);
        let unit = &mut units[position / BLOCK * unit_len(HEAD_DIM)..][..unit_len(HEAD_DIM)];
        dispatch::append::<KvF16>(unit, position % BLOCK, key, value, 1, 0);
        // What the cache holds is the input here.
        for i in 0..HEAD_DIM {
            let half = |v: f32| {
                let mut lane = F16x8::default();
                KvF16::set(&mut lane, 0, v);
                KvF16::widen(&lane)[0]
            };
            keys[position * HEAD_DIM + i] = half(flat(key)[i]);
            values[position * HEAD_DIM + i] = half(flat(value)[i]);
        }
    }
    let partials = arena.slice::<F32x4>(2 * GROUP_HEADS * LEN)?;
    let (first, second) = partials.split_at_mut(GROUP_HEADS * LEN);
    (kernels.attend)(queries, &units[..unit_len(HEAD_DIM)], BLOCK, first);
    (kernels.attend)(
        queries,
        &units[unit_len(HEAD_DIM)..],
        POSITIONS - BLOCK,
        second,
    );

    let (mut softmax, mut attention) = (0.0, 0.0);
    let weights = arena.slice::<f64>(POSITIONS)?;
    let out = arena.slice::<F32x4>(LANES)?;
    for head in 0..GROUP_HEADS {
        let query = &flat(queries)[head * HEAD_DIM..][..HEAD_DIM];
        for (position, weight) in weights.iter_mut().enumerate() {
            let key = &keys[position * HEAD_DIM..][..HEAD_DIM];
            let score = query
                .iter()
                .zip(key)
                .map(|(&q, &k)| f64::from(q) * f64::from(k))
                .sum();
            *weight = score;
        }
        let [m, l, ..] = partials[head * LEN + LANES].0;
        let truth: f64 = weights[..BLOCK]
            .iter()
            .map(|s| libm::exp(s - f64::from(m)))
            .sum();
        softmax = worse(softmax, (f64::from(l) - truth).abs() / truth);

        let largest = weights
            .iter()
            .fold(f64::NEG_INFINITY, |a, &b| if b > a { b } else { a });
        weights
            .iter_mut()
            .for_each(|w| *w = libm::exp(*w - largest));
        let total: f64 = weights.iter().sum();
        (kernels.merge)(&partials[head * LEN..], GROUP_HEADS * LEN, 2, out);
        let truth = (0..HEAD_DIM).map(|i| {
            let column = values[i..].iter().step_by(HEAD_DIM);
            weights
                .iter()
                .zip(column)
                .map(|(w, &v)| w / total * f64::from(v))
                .sum()
        });
        attention = worse(attention, error(flat(out).iter().copied(), truth));
    }
    Ok((softmax, attention))
}

/// The larger, or the one that is no number.
fn worse(a: f64, b: f64) -> f64 {
    if b <= a { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Line;

    fn failing(kernels: &Kernels) -> Vec<&'static str> {
        let mut lines = vec![Line::ZERO; (super::super::ARENA_BYTES / 64) as usize];
        let mut failing = Vec::new();
        run(Arena::new(&mut lines), kernels, &mut |accuracy| {
            if !accuracy.is_pass() {
                failing.push(accuracy.kernel);
            }
        })
        .unwrap();
        failing
    }

    #[test]
    fn the_engines_kernels_are_within_their_limits() {
        assert_eq!(failing(&Kernels::NATIVE), [""; 0]);
    }

    #[test]
    fn one_planted_error_fails_its_kernel_alone() {
        let native = Kernels::NATIVE;
        let mul = Kernels {
            mul: |w, x, out| {
                (Kernels::NATIVE.mul)(w, x, out);
                out[0].0[0] += 1e-3;
            },
            ..native
        };
        assert_eq!(failing(&mul), ["gemv f32", "gemv f16", "gemv q8_0"]);
        let rms_norm = Kernels {
            rms_norm: |x, weight, out| dispatch::rms_norm(x, 1, 0, weight, EPS * 1000.0, out),
            ..native
        };
        assert_eq!(failing(&rms_norm), ["rms_norm"]);
        let rope = Kernels {
            rope: |x, cos, sin, out| {
                dispatch::rope(RopeStyle::HalfSplit, x, 1, 0, cos, sin, 1.0, out);
            },
            ..native
        };
        assert_eq!(failing(&rope), ["rope"]);
        let swiglu = Kernels {
            swiglu: |gate, up| {
                dispatch::swiglu(gate, up);
                gate[100].0[3] += 1e-4;
            },
            ..native
        };
        assert_eq!(failing(&swiglu), ["swiglu"]);
        let attend = Kernels {
            attend: |queries, unit, n, out| {
                dispatch::attend::<KvF16, GROUP_HEADS>(queries, unit, [n - 1; GROUP_HEADS], out);
            },
            ..native
        };
        assert_eq!(failing(&attend), ["softmax", "attention"]);
        let merge = Kernels {
            merge: |partials, stride, _, out| dispatch::merge(partials, stride, 1, out),
            ..native
        };
        assert_eq!(failing(&merge), ["attention"]);
    }
}
