//! Activations for a matrix of the model, and its products with them in f64.

use alloc::vec;
use alloc::vec::Vec;
use ops::activations::{Activations, FloatChunk, QuantPair, TILE};
use ops::dispatch::{copy_floats, quantize};
use ops::lanes::{F32x4, flat, flat_mut};
use ops::matrix::Kernels;
use ops::packed::MR;
use ops::{GgmlType, Matrix};
use parallel::{Core, Cores, Shared};

/// Packed bytes that one sample reads at least, on a board and in an emulator.
const SAMPLE_BYTES: [usize; 2] = [16 << 20, 256 << 10];
/// The most rows whose products are compared with f64.
const COMPARED_ROWS: usize = 1024;

/// What a matrix is multiplied with.
pub(super) struct Inputs {
    pub tensor: &'static str,
    pub format: GgmlType,
    pub rows: usize,
    pub cols: usize,
    group_bytes: usize,
    /// Groups of rows that are multiplied: in an emulator only the first of a large matrix.
    groups: usize,
    /// How often, in one sample.
    passes: usize,
    quant1: Vec<QuantPair<1>>,
    quant4: Vec<QuantPair<TILE>>,
    float1: Vec<FloatChunk<1>>,
    float4: Vec<FloatChunk<TILE>>,
    /// Products of the float activations in f64: (compared rows, TILE); the one token is the first.
    exact: Vec<f64>,
}

impl Inputs {
    /// Makes activations and multiplies them in f64.
    pub fn new(tensor: &'static str, matrix: &Matrix<'_>, emulated: bool) -> Self {
        let sample_bytes = SAMPLE_BYTES[usize::from(emulated)];
        let group_bytes = matrix.group_bytes();
        let most = match emulated {
            true => (sample_bytes / group_bytes).max(1),
            false => usize::MAX,
        };
        let groups = matrix.groups().min(most);
        let (rows, cols) = (matrix.rows(), matrix.cols());
        let mut inputs = Self {
            tensor,
            format: matrix.ggml_type(),
            rows,
            cols,
            group_bytes,
            groups,
            passes: (sample_bytes / (groups * group_bytes)).max(1),
            quant1: vec![QuantPair::ZERO; cols.div_ceil(64)],
            quant4: vec![QuantPair::ZERO; cols.div_ceil(64)],
            float1: vec![FloatChunk::ZERO; cols.div_ceil(16)],
            float4: vec![FloatChunk::ZERO; cols.div_ceil(16)],
            exact: vec![0.0; (groups * MR).min(rows).min(COMPARED_ROWS) * TILE],
        };
        let mut vector = vec![F32x4::ZERO; cols.next_multiple_of(64) / 4];
        for t in 0..TILE {
            for (i, x) in flat_mut(&mut vector)[..cols].iter_mut().enumerate() {
                *x = activation(i, t);
            }
            if t == 0 {
                quantize::<1>(&vector, cols / 32, &mut inputs.quant1, 0);
                copy_floats::<1>(&vector, &mut inputs.float1, 0);
            }
            quantize::<TILE>(&vector, cols / 32, &mut inputs.quant4, t);
            copy_floats::<TILE>(&vector, &mut inputs.float4, t);
        }
        let mut row = vec![F32x4::ZERO; cols.div_ceil(4)];
        for (r, exact) in inputs.exact.chunks_exact_mut(TILE).enumerate() {
            matrix.read_row(r, 0, &mut row);
            for (t, exact) in exact.iter_mut().enumerate() {
                let products = flat(&row)[..cols].iter().enumerate();
                *exact = products
                    .map(|(i, &w)| f64::from(w) * f64::from(activation(i, t)))
                    .sum();
            }
        }
        inputs
    }

    /// Vectors that the products of one sample take.
    pub fn out_len(&self, n_tokens: usize) -> usize {
        self.groups * n_tokens
    }

    /// One sample; `out` is (groups, n_tokens).
    pub fn multiply(
        &self,
        matrix: &Matrix<'_>,
        cores: &dyn Cores,
        kernels: Kernels,
        n_tokens: usize,
        out: &mut [F32x4],
    ) {
        let x = Activations {
            n_tokens,
            quant1: &self.quant1,
            quant4: &self.quant4,
            float1: &self.float1,
            float4: &self.float4,
        };
        let out = Shared::new(out);
        cores.run(&|core: &mut Core<'_>| {
            let (mine, out) = core.part(&out, self.groups, n_tokens, 0);
            for _ in 0..self.passes {
                matrix.mul(kernels, &x, mine.clone(), out);
            }
        });
    }

    /// The largest error of the products of a sample, relative to the largest exact product.
    pub fn error(&self, out: &[F32x4], n_tokens: usize) -> f64 {
        let (mut error, mut magnitude) = (0.0f64, 0.0f64);
        for (r, exact) in self.exact.chunks_exact(TILE).enumerate() {
            for (t, &exact) in exact[..n_tokens].iter().enumerate() {
                let got = f64::from(out[r / MR * n_tokens + t].0[r % MR]);
                let difference = (got - exact).abs();
                // A NaN stays: nothing is greater than it.
                if difference > error || difference.is_nan() {
                    error = difference;
                }
                magnitude = magnitude.max(exact.abs());
            }
        }
        error / magnitude
    }

    /// How many products are compared with f64.
    pub fn compared_values(&self, n_tokens: usize) -> usize {
        self.exact.len() / TILE * n_tokens
    }

    /// Packed bytes that one sample reads.
    pub fn read_bytes(&self) -> usize {
        self.groups * self.group_bytes * self.passes
    }

    /// Rows that are multiplied.
    pub fn measured_rows(&self) -> usize {
        (self.groups * MR).min(self.rows)
    }
}

/// Activation `i` of token `t`: from −1 to 1, no two blocks alike.
fn activation(i: usize, t: usize) -> f32 {
    ((i * 7919 + t * 104_729) % 2003) as f32 / 1001.0 - 1.0
}
