//! A weight matrix of any supported type, packed.

mod error;
mod kernels;
mod multiply;
mod pack;
mod rows;

use crate::GgmlType;
use crate::arena::Arena;
use crate::formats::formats;
use crate::lanes::{F32x4, flat_mut};
use crate::packed::float::Float;
use crate::packed::{MR, Quantized};
use rows::{Rows, by_format};

pub use error::Error;
pub use kernels::{Kernels, UnknownKernels};
pub use pack::Packing;

/// `rows` vectors of `cols` weights. A product with a vector of `cols` gives `rows` values.
pub struct Matrix<'a> {
    rows: usize,
    cols: usize,
    ggml_type: GgmlType,
    packed: Rows<'a>,
}

impl<'a> Matrix<'a> {
    /// A matrix of zeros.
    ///
    /// # Errors
    /// [`Error::UnsupportedType`], [`Error::OutOfMemory`].
    pub fn new(
        arena: &mut Arena<'a>,
        ggml_type: GgmlType,
        rows: usize,
        cols: usize,
    ) -> Result<Self, Error> {
        Ok(Matrix {
            rows,
            cols,
            ggml_type,
            packed: Rows::new(arena, ggml_type, rows, cols)?,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Length of a row.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Groups of four rows, the last perhaps filled up with zeros.
    pub fn groups(&self) -> usize {
        self.rows.div_ceil(MR)
    }

    /// The type in the file.
    pub fn ggml_type(&self) -> GgmlType {
        self.ggml_type
    }

    /// Whether the weights are floats in the file.
    pub fn is_float(&self) -> bool {
        self.packed.is_float()
    }

    /// Bytes of a packed group, all of which a product reads.
    pub fn group_bytes(&self) -> usize {
        self.packed.bytes() / self.groups()
    }

    /// Bytes of a row in the file.
    pub fn file_row_bytes(&self) -> usize {
        self.cols / self.ggml_type.block_len() * self.ggml_type.block_bytes()
    }

    /// Whether matrices can have this type.
    pub fn supports(ggml_type: GgmlType) -> bool {
        Self::TYPES.contains(&ggml_type)
    }

    /// Values `from .. from + 4 · out.len()` of row `row`; beyond the row they are 0.
    pub fn read_row(&self, row: usize, from: usize, out: &mut [F32x4]) {
        let (group, r) = (row / MR, row % MR);
        let out = flat_mut(out);
        let until = self.cols.min(from + out.len());
        out.fill(0.0);
        formats!(by_format, &self.packed, (rows, Format) {
            let len = self.cols.div_ceil(32 * Format::BLOCKS);
            let slabs = &rows[group * len..][..len];
            let weights = |b| Format::weights(&slabs[b / Format::BLOCKS], b % Format::BLOCKS, r);
            put_weights(from, until, out, weights);
        }, {
            let len = self.cols.div_ceil(16);
            let chunks = &rows[group * len..][..len];
            put_weights(from, until, out, |c| Format::widen(&chunks[c], r));
        });
    }
}

/// Puts the weights `from .. until` of a row, which come by `N`, into `out`.
#[inline(always)] // `weights` belongs into the loop.
fn put_weights<const N: usize>(
    from: usize,
    until: usize,
    out: &mut [f32],
    weights: impl Fn(usize) -> [f32; N],
) {
    for b in from / N..until.div_ceil(N) {
        for (i, w) in (N * b..).zip(weights(b)) {
            if (from..until).contains(&i) {
                out[i - from] = w;
            }
        }
    }
}
