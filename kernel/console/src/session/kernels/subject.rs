//! A matrix of the model, activations for it, and its products in f64.

use core::fmt;
use ops::activations::{Activations, FloatChunk, QuantPair, TILE};
use ops::arena::{Arena, OutOfMemory};
use ops::dispatch::{copy_floats, quantize};
use ops::lanes::{F32x4, flat, flat_mut};
use ops::matrix::Kernels;
use ops::packed::GROUP;
use ops::{GgmlType, Matrix};
use parallel::{Core, Cores, Shared};

/// Packed bytes that one sample reads at least, on a board and in an emulator.
const SAMPLE_BYTES: [usize; 2] = [16 << 20, 256 << 10];
/// The most rows whose products are compared with f64.
const COMPARED_ROWS: usize = 1024;

/// What the generations are measured on.
pub(super) struct Subject<'m, 's> {
    tensor: &'static str,
    matrix: &'m Matrix<'m>,
    /// Groups of rows that are multiplied: in an emulator only the first of a large matrix.
    groups: usize,
    /// How often, in one sample.
    passes: usize,
    quant1: &'s [QuantPair<1>],
    quant4: &'s [QuantPair<TILE>],
    float1: &'s [FloatChunk<1>],
    float4: &'s [FloatChunk<TILE>],
    /// Products of the float activations in f64: (compared rows, TILE); the one token is the first.
    exact: &'s [f64],
    /// Room for products.
    out: &'s mut [F32x4],
}

impl<'m, 's> Subject<'m, 's> {
    /// Makes activations and multiplies them in f64.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub(super) fn new(
        arena: &mut Arena<'s>,
        tensor: &'static str,
        matrix: &'m Matrix<'m>,
        emulated: bool,
    ) -> Result<Self, OutOfMemory> {
        let sample_bytes = SAMPLE_BYTES[usize::from(emulated)];
        let most = if emulated {
            (sample_bytes / matrix.group_bytes()).max(1)
        } else {
            usize::MAX
        };
        let groups = matrix.groups().min(most);
        let cols = matrix.cols();
        let vector = arena.slice::<F32x4>(cols.next_multiple_of(64) / 4)?;
        let quant1 = arena.slice(cols.div_ceil(64))?;
        let quant4 = arena.slice(cols.div_ceil(64))?;
        let float1 = arena.slice(cols.div_ceil(16))?;
        let float4 = arena.slice(cols.div_ceil(16))?;
        let row = arena.slice::<F32x4>(cols.div_ceil(4))?;
        let rows = (groups * GROUP).min(matrix.rows()).min(COMPARED_ROWS);
        let exact = arena.slice::<f64>(rows * TILE)?;
        for t in 0..TILE {
            for (i, x) in flat_mut(vector)[..cols].iter_mut().enumerate() {
                *x = activation(i, t);
            }
            if t == 0 {
                quantize::<1>(vector, cols / 32, quant1, 0);
                copy_floats::<1>(vector, float1, 0);
            }
            quantize::<TILE>(vector, cols / 32, quant4, t);
            copy_floats::<TILE>(vector, float4, t);
        }
        for (r, exact) in exact.chunks_exact_mut(TILE).enumerate() {
            matrix.read_row(r, 0, row);
            for (t, exact) in exact.iter_mut().enumerate() {
                let products = flat(row)[..cols].iter().enumerate();
                *exact = products
                    .map(|(i, &w)| f64::from(w) * f64::from(activation(i, t)))
                    .sum();
            }
        }
        Ok(Self {
            tensor,
            matrix,
            groups,
            passes: (sample_bytes / (groups * matrix.group_bytes())).max(1),
            quant1,
            quant4,
            float1,
            float4,
            exact,
            out: arena.slice(groups * TILE)?,
        })
    }

    /// One sample.
    pub(super) fn multiply(&mut self, cores: &dyn Cores, kernels: Kernels, n_tokens: usize) {
        let x = Activations {
            n_tokens,
            quant1: self.quant1,
            quant4: self.quant4,
            float1: self.float1,
            float4: self.float4,
        };
        let (matrix, groups, passes) = (self.matrix, self.groups, self.passes);
        let out = Shared::new(&mut self.out[..groups * n_tokens]);
        cores.run(&|core: &mut Core<'_>| {
            let (mine, out) = core.part(&out, groups, n_tokens, 0);
            for _ in 0..passes {
                matrix.mul(kernels, &x, mine.clone(), out);
            }
        });
    }

    /// The largest error of the products of the last sample, relative to the largest exact product.
    pub(super) fn error(&self, n_tokens: usize) -> f64 {
        let (mut error, mut magnitude) = (0.0f64, 0.0f64);
        for (r, exact) in self.exact.chunks_exact(TILE).enumerate() {
            for (t, &exact) in exact[..n_tokens].iter().enumerate() {
                let got = f64::from(self.out[r / GROUP * n_tokens + t].0[r % GROUP]);
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
    pub(super) fn compared_values(&self, n_tokens: usize) -> usize {
        self.exact.len() / TILE * n_tokens
    }

    /// Packed bytes that one sample reads.
    pub(super) fn read_bytes(&self) -> usize {
        self.groups * self.matrix.group_bytes() * self.passes
    }

    pub(super) fn tensor(&self) -> &'static str {
        self.tensor
    }

    pub(super) fn format(&self) -> GgmlType {
        self.matrix.ggml_type()
    }

    /// Rows and columns.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.matrix.rows(), self.matrix.cols()]
    }

    /// Rows that are multiplied.
    pub(super) fn measured_rows(&self) -> usize {
        (self.groups * GROUP).min(self.matrix.rows())
    }
}

impl fmt::Display for Subject<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rows, cols] = self.shape();
        write!(f, "{} {}, {rows} x {cols}", self.tensor, self.format())?;
        match self.measured_rows() {
            measured if measured < rows => write!(f, ", the first {measured} rows"),
            _ => Ok(()),
        }
    }
}

/// Activation `i` of token `t`: from −1 to 1, no two blocks alike.
fn activation(i: usize, t: usize) -> f32 {
    ((i * 7919 + t * 104_729) % 2003) as f32 / 1001.0 - 1.0
}
