//! Matrices and activations for both kinds of checks.

use crate::activations::{Activations, FloatChunk, QuantPair, TILE};
use crate::arena::{Arena, OutOfMemory};
use crate::dispatch::{copy_floats, quantize};
use crate::formats::formats;
use crate::lanes::F32x4;
use crate::matrix::{Error, Kernels};
use crate::{GgmlType, Matrix};

/// The kernels that are checked; what they are compared with is the definition.
pub(super) const KERNELS: [Kernels; 2] = [Kernels::Int8, Kernels::Dequantize];

/// Names of a type's checks, one for each of [`KERNELS`].
pub(super) struct Names {
    pub ggml_type: GgmlType,
    /// Against the definition.
    pub bits: [&'static str; 2],
    /// Against f64.
    pub accuracy: [&'static str; 2],
}

macro_rules! names {
    ([] $($kind:ident {
        $($Name:ident $name:literal = $id:literal, $n:literal, $bytes:literal, $m:ident::$T:ident;)*
    })*) => {
        /// Every type that matrices can have.
        pub(super) const NAMES: &[Names] = &[$($(Names {
            ggml_type: GgmlType::$Name,
            bits: [stringify!($Name), concat!(stringify!($Name), " plain")],
            accuracy: [concat!("gemv ", $name), concat!("gemv ", $name, " plain")],
        },)*)*];
    };
}
formats!(names);

/// A matrix of zeros, of a type that matrices can have.
pub(super) fn new_matrix<'a>(
    arena: &mut Arena<'a>,
    ggml_type: GgmlType,
    rows: usize,
    cols: usize,
) -> Result<Matrix<'a>, OutOfMemory> {
    Matrix::new(arena, ggml_type, rows, cols).map_err(|error| match error {
        Error::OutOfMemory(error) => error,
        error => unreachable!("a type that matrices can have: {error}"),
    })
}

/// Puts what `f16` gives into a quantised block's scale and, if it has one, minimum.
pub(super) fn put_scales(ggml_type: GgmlType, block: &mut [u8], mut f16: impl FnMut() -> u16) {
    let places: &[usize] = match ggml_type {
        GgmlType::Q6_K => &[208],
        GgmlType::Q8_0 | GgmlType::Q4_0 | GgmlType::Q5_0 | GgmlType::Q1_0 => &[0],
        _ => &[0, 2],
    };
    for &at in places {
        block[at..at + 2].copy_from_slice(&f16().to_le_bytes());
    }
}

/// Activations in every form.
pub(super) struct Inputs<'a> {
    quant1: &'a mut [QuantPair<1>],
    pub quant4: &'a mut [QuantPair<TILE>],
    float1: &'a mut [FloatChunk<1>],
    pub float4: &'a mut [FloatChunk<TILE>],
}

impl<'a> Inputs<'a> {
    /// Room for `tiles` tiles.
    pub fn new(arena: &mut Arena<'a>, cols: usize, tiles: usize) -> Result<Self, OutOfMemory> {
        let (pairs, chunks) = (cols.div_ceil(64), cols / 16);
        Ok(Inputs {
            quant1: arena.slice(pairs)?,
            quant4: arena.slice(pairs * tiles)?,
            float1: arena.slice(chunks)?,
            float4: arena.slice(chunks * tiles)?,
        })
    }

    /// Puts `vector` in as token `t` of the tiles, and as the token that stands alone.
    pub fn put(&mut self, vector: &[F32x4], t: usize) {
        let (tile, blocks) = (t / TILE, vector.len() / 8);
        let (pairs, chunks) = (self.quant1.len(), self.float1.len());
        quantize(vector, blocks, self.quant1, 0);
        copy_floats(vector, self.float1, 0);
        let quant4 = &mut self.quant4[tile * pairs..][..pairs];
        quantize(vector, blocks, quant4, t % TILE);
        let float4 = &mut self.float4[tile * chunks..][..chunks];
        copy_floats(vector, float4, t % TILE);
    }

    /// The activations of the first `n_tokens` tokens, or of the one that stands alone.
    pub fn of(&self, n_tokens: usize) -> Activations<'_> {
        Activations {
            n_tokens,
            quant1: self.quant1,
            quant4: self.quant4,
            float1: self.float1,
            float4: self.float4,
        }
    }
}
