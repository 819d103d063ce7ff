//! A layer's input, laid out for the kernels that multiply it with packed rows.

use crate::arena::Plain;

/// Two blocks of 32 quantised activations of `NR` tokens.
///
/// Value `i` of block `j`, token `t` is `d[j][t] · q[j][t][i]`. `s` is `d · Σq`, which weights
/// with a minimum need; `sum` is `Σq` four times, which weights of one bit need.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct QuantPair<const NR: usize> {
    /// Integers from −127 to 127.
    pub q: [[[i8; 32]; NR]; 2],
    /// Scales.
    pub d: [[f32; NR]; 2],
    /// Scaled sums.
    pub s: [[f32; NR]; 2],
    /// Sums.
    pub sum: [[[i16; 4]; NR]; 2],
}

/// Sixteen float activations of `NR` tokens.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct FloatChunk<const NR: usize> {
    /// Values of each token.
    pub x: [[f32; 16]; NR],
}

impl<const NR: usize> QuantPair<NR> {
    /// Zeros.
    pub const ZERO: Self = Self {
        q: [[[0; 32]; NR]; 2],
        d: [[0.0; NR]; 2],
        s: [[0.0; NR]; 2],
        sum: [[[0; 4]; NR]; 2],
    };
}

impl<const NR: usize> FloatChunk<NR> {
    /// Zeros.
    pub const ZERO: Self = Self { x: [[0.0; 16]; NR] };
}

// SAFETY: numbers, each part a multiple of the next one's alignment, in all 96 · `NR` bytes: no padding for any
// `NR`, which a derive cannot tell.
unsafe impl<const NR: usize> Plain for QuantPair<NR> {}
// SAFETY: floats in all 64 · `NR` bytes.
unsafe impl<const NR: usize> Plain for FloatChunk<NR> {}

/// Tokens in a tile: the `NR` of a GEMM. That of a GEMV is 1.
pub const TILE: usize = 4;

/// Activations of `n` tokens in the form that a matrix wants: of one token alone, or in tiles of
/// [`TILE`] tokens, one tile after the other.
#[derive(Clone, Copy, Debug)]
pub struct Activations<'a> {
    /// How many tokens.
    pub n_tokens: usize,
    /// Quantised, of one token.
    pub quant1: &'a [QuantPair<1>],
    /// Quantised, in tiles.
    pub quant4: &'a [QuantPair<TILE>],
    /// As floats, of one token.
    pub float1: &'a [FloatChunk<1>],
    /// As floats, in tiles.
    pub float4: &'a [FloatChunk<TILE>],
}
