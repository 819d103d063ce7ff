//! A layer's input, laid out for the kernels that multiply it with packed rows.

use crate::arena::Plain;

/// Two blocks of 32 quantised activations of `NT` tokens.
///
/// Value `i` of block `j`, token `t` is `d[j][t] · q[j][t][i]`. `s` is `d · Σq`, which weights
/// with a minimum need; `sum` is `Σq` four times, which weights of one bit need.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct QuantPair<const NT: usize> {
    /// Integers from −127 to 127.
    pub q: [[[i8; 32]; NT]; 2],
    /// Scales.
    pub d: [[f32; NT]; 2],
    /// Scaled sums.
    pub s: [[f32; NT]; 2],
    /// Sums.
    pub sum: [[[i16; 4]; NT]; 2],
}

/// Sixteen float activations of `NT` tokens.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct FloatChunk<const NT: usize> {
    /// Values of each token.
    pub x: [[f32; 16]; NT],
}

impl<const NT: usize> QuantPair<NT> {
    /// Zeros.
    pub const ZERO: Self = Self {
        q: [[[0; 32]; NT]; 2],
        d: [[0.0; NT]; 2],
        s: [[0.0; NT]; 2],
        sum: [[[0; 4]; NT]; 2],
    };
}

impl<const NT: usize> FloatChunk<NT> {
    /// Zeros.
    pub const ZERO: Self = Self { x: [[0.0; 16]; NT] };
}

// SAFETY: numbers, each part a multiple of the next one's alignment, in all 96 · `NT` bytes: no padding for any
// `NT`, which a derive cannot tell.
unsafe impl<const NT: usize> Plain for QuantPair<NT> {}
// SAFETY: floats in all 64 · `NT` bytes.
unsafe impl<const NT: usize> Plain for FloatChunk<NT> {}

/// Tokens in a tile.
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
