//! A weight matrix of any supported type, packed.

mod error;
mod kernels;
mod multiply;
mod pack;

use crate::GgmlType;
use crate::arena::Arena;
use crate::lanes::{F32x4, flat_mut};
use crate::packed::float::{Bf16, Chunk16, Chunk32, F16, F32, Float};
use crate::packed::{GROUP, Quantised, q4_0, q4_1, q4_k, q5_0, q5_1, q5_k, q6_k, q8_0};

pub use error::Error;
pub use kernels::{Kernels, UnknownKernels};
pub use pack::Packing;

/// Packed rows by type.
#[allow(non_camel_case_types, reason = "the names are ggml's")]
enum Rows<'a> {
    F32(&'a mut [Chunk32]),
    F16(&'a mut [Chunk16]),
    Bf16(&'a mut [Chunk16]),
    Q4_0(&'a mut [q4_0::Slab]),
    Q4_1(&'a mut [q4_1::Slab]),
    Q5_0(&'a mut [q5_0::Slab]),
    Q5_1(&'a mut [q5_1::Slab]),
    Q8_0(&'a mut [q8_0::Slab]),
    Q4_K(&'a mut [q4_k::Slab]),
    Q5_K(&'a mut [q5_k::Slab]),
    Q6_K(&'a mut [q6_k::Slab]),
}

/// Does `$quantised` or `$float` with the format's type as `$Q` or `$F` and its rows as `$rows`.
macro_rules! by_format {
    ($matrix:expr, ($rows:ident, $Format:ident) $quantised:expr, $float:expr) => {
        match $matrix {
            Rows::F32($rows) => {
                type $Format = F32;
                $float
            }
            Rows::F16($rows) => {
                type $Format = F16;
                $float
            }
            Rows::Bf16($rows) => {
                type $Format = Bf16;
                $float
            }
            Rows::Q4_0($rows) => {
                type $Format = q4_0::Q4_0;
                $quantised
            }
            Rows::Q4_1($rows) => {
                type $Format = q4_1::Q4_1;
                $quantised
            }
            Rows::Q5_0($rows) => {
                type $Format = q5_0::Q5_0;
                $quantised
            }
            Rows::Q5_1($rows) => {
                type $Format = q5_1::Q5_1;
                $quantised
            }
            Rows::Q8_0($rows) => {
                type $Format = q8_0::Q8_0;
                $quantised
            }
            Rows::Q4_K($rows) => {
                type $Format = q4_k::Q4_K;
                $quantised
            }
            Rows::Q5_K($rows) => {
                type $Format = q5_k::Q5_K;
                $quantised
            }
            Rows::Q6_K($rows) => {
                type $Format = q6_k::Q6_K;
                $quantised
            }
        }
    };
}
use by_format;

/// Cuts the elements of any type at `$at`.
macro_rules! split {
    ($rows:expr, $at:expr, $($Variant:ident)*) => {
        match $rows {
            $(Rows::$Variant(rows) => {
                let (first, rest) = rows.split_at_mut($at);
                (Rows::$Variant(first), Rows::$Variant(rest))
            })*
        }
    };
}

impl<'a> Rows<'a> {
    /// Elements: slabs or chunks.
    fn len(&self) -> usize {
        match self {
            Rows::F32(rows) => rows.len(),
            Rows::F16(rows) | Rows::Bf16(rows) => rows.len(),
            Rows::Q4_0(rows) => rows.len(),
            Rows::Q4_1(rows) => rows.len(),
            Rows::Q5_0(rows) => rows.len(),
            Rows::Q5_1(rows) => rows.len(),
            Rows::Q8_0(rows) => rows.len(),
            Rows::Q4_K(rows) => rows.len(),
            Rows::Q5_K(rows) => rows.len(),
            Rows::Q6_K(rows) => rows.len(),
        }
    }

    /// The first `at` elements, and the rest.
    fn split_at(self, at: usize) -> (Rows<'a>, Rows<'a>) {
        split!(self, at, F32 F16 Bf16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K Q5_K Q6_K)
    }

    /// The first `at` elements, and the rest, for a while.
    fn split_at_mut(&mut self, at: usize) -> (Rows<'_>, Rows<'_>) {
        split!(self, at, F32 F16 Bf16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K Q5_K Q6_K)
    }
}

/// `rows` vectors of `cols` weights. A product with a vector of `cols` gives `rows` values.
pub struct Matrix<'a> {
    rows: usize,
    cols: usize,
    ggml_type: GgmlType,
    packed: Rows<'a>,
}

impl<'a> Matrix<'a> {
    /// Names of the types that matrices can have, for messages.
    pub const SUPPORTED: &'static str =
        "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K";

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
        let groups = rows.div_ceil(GROUP);
        let chunks = groups * cols.div_ceil(16);
        let pairs = groups * cols.div_ceil(64);
        let supers = groups * cols.div_ceil(256);
        let packed = match ggml_type {
            GgmlType::F32 => Rows::F32(arena.slice(chunks)?),
            GgmlType::F16 => Rows::F16(arena.slice(chunks)?),
            GgmlType::BF16 => Rows::Bf16(arena.slice(chunks)?),
            GgmlType::Q4_0 => Rows::Q4_0(arena.slice(pairs)?),
            GgmlType::Q4_1 => Rows::Q4_1(arena.slice(pairs)?),
            GgmlType::Q5_0 => Rows::Q5_0(arena.slice(pairs)?),
            GgmlType::Q5_1 => Rows::Q5_1(arena.slice(pairs)?),
            GgmlType::Q8_0 => Rows::Q8_0(arena.slice(pairs)?),
            GgmlType::Q4_K => Rows::Q4_K(arena.slice(supers)?),
            GgmlType::Q5_K => Rows::Q5_K(arena.slice(supers)?),
            GgmlType::Q6_K => Rows::Q6_K(arena.slice(supers)?),
            other => return Err(Error::UnsupportedType(other)),
        };
        Ok(Matrix {
            rows,
            cols,
            ggml_type,
            packed,
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
        self.rows.div_ceil(GROUP)
    }

    /// The type in the file.
    pub fn ggml_type(&self) -> GgmlType {
        self.ggml_type
    }

    /// Whether the weights are floats in the file.
    pub fn is_float(&self) -> bool {
        matches!(self.packed, Rows::F32(_) | Rows::F16(_) | Rows::Bf16(_))
    }

    /// Bytes of a packed group, all of which a product reads.
    pub fn group_bytes(&self) -> usize {
        let all = match &self.packed {
            Rows::F32(rows) => size_of_val(*rows),
            Rows::F16(rows) | Rows::Bf16(rows) => size_of_val(*rows),
            Rows::Q4_0(rows) => size_of_val(*rows),
            Rows::Q4_1(rows) => size_of_val(*rows),
            Rows::Q5_0(rows) => size_of_val(*rows),
            Rows::Q5_1(rows) => size_of_val(*rows),
            Rows::Q8_0(rows) => size_of_val(*rows),
            Rows::Q4_K(rows) => size_of_val(*rows),
            Rows::Q5_K(rows) => size_of_val(*rows),
            Rows::Q6_K(rows) => size_of_val(*rows),
        };
        all / self.groups()
    }

    /// Bytes of a row in the file.
    pub fn file_row_bytes(&self) -> usize {
        self.cols / self.ggml_type.block_len() * self.ggml_type.block_bytes()
    }

    /// The types that matrices can have.
    pub const TYPES: [GgmlType; 11] = [
        GgmlType::F32,
        GgmlType::F16,
        GgmlType::BF16,
        GgmlType::Q4_0,
        GgmlType::Q4_1,
        GgmlType::Q5_0,
        GgmlType::Q5_1,
        GgmlType::Q8_0,
        GgmlType::Q4_K,
        GgmlType::Q5_K,
        GgmlType::Q6_K,
    ];

    /// Whether matrices can have this type.
    pub fn supports(ggml_type: GgmlType) -> bool {
        Self::TYPES.contains(&ggml_type)
    }

    /// Values `from .. from + 4 · out.len()` of row `row`; beyond the row they are 0.
    pub fn read_row(&self, row: usize, from: usize, out: &mut [F32x4]) {
        let (group, r) = (row / GROUP, row % GROUP);
        let out = flat_mut(out);
        let until = self.cols.min(from + out.len());
        out.fill(0.0);
        by_format!(&self.packed, (rows, Format) {
            let len = self.cols.div_ceil(32 * Format::BLOCKS);
            let slabs = &rows[group * len..][..len];
            for b in from / 32..until.div_ceil(32) {
                let slab = &slabs[b / Format::BLOCKS];
                for (i, w) in (32 * b..).zip(Format::weights(slab, b % Format::BLOCKS, r)) {
                    if (from..until).contains(&i) {
                        out[i - from] = w;
                    }
                }
            }
        }, {
            let len = self.cols.div_ceil(16);
            let chunks = &rows[group * len..][..len];
            for c in from / 16..until.div_ceil(16) {
                for (i, w) in (16 * c..).zip(Format::widen(&chunks[c], r)) {
                    if (from..until).contains(&i) {
                        out[i - from] = w;
                    }
                }
            }
        });
    }
}
