//! Weights as kernels read them: groups of four rows, streamed from front to back.
//!
//! Packing moves bits and changes none: a packed tensor is as long as the file's, but for rows that
//! do not fill a group, blocks that do not fill a slab, and the 6-bit scales of K-quants, which
//! become bytes.

mod copy;
pub mod float;
mod nibbles;
pub mod q1_0;
pub mod q4_0;
pub mod q4_1;
pub mod q4_k;
pub mod q5_0;
pub mod q5_1;
pub mod q5_k;
pub mod q6_k;
pub mod q8_0;

use crate::arena::Plain;

/// Rows in a group: those that a micro-kernel multiplies at once, `MR` in the words of BLIS.
pub const MR: usize = 4;

/// A quantised format: blocks of 32 weights, several blocks of four rows to a *slab*.
///
/// Weight `i` of a block is `d · q_i + m`.
pub trait Quantized {
    /// Four rows, [`BLOCKS`](Quantized::BLOCKS) blocks.
    type Slab: Plain + Send + Sync;
    /// Blocks in a slab: an even number.
    const BLOCKS: usize;
    /// Whether blocks have an `m` other than 0.
    const HAS_MIN: bool = false;

    /// `q` of block `j` of row `r`.
    fn quants(slab: &Self::Slab, j: usize, r: usize) -> [i8; 32];
    /// `d` of block `j`, for the four rows.
    fn scales(slab: &Self::Slab, j: usize) -> [f32; MR];
    /// `m` of block `j`, for the four rows.
    fn minima(_slab: &Self::Slab, _j: usize) -> [f32; MR] {
        [0.0; MR]
    }
    /// Whether all scales and minima are finite.
    fn is_finite(slab: &Self::Slab) -> bool;
    /// Puts one row of the file (whole blocks) into row `r` of `slabs`.
    fn pack_row(file_row: &[u8], r: usize, slabs: &mut [Self::Slab]);

    /// `Σ q_i · x_i` over block `j` of row `r`, whose [`quants`](Quantized::quants) are `q`, exact.
    #[inline(always)] // Must take on the caller's target features.
    fn dot(_slab: &Self::Slab, _j: usize, _r: usize, q: &[i8; 32], x: &[i8; 32]) -> i32 {
        dot(q, x)
    }

    /// The weights of block `j` of row `r`.
    #[inline(always)] // Must take on the caller's target features.
    fn weights(slab: &Self::Slab, j: usize, r: usize) -> [f32; 32] {
        let (d, m) = (Self::scales(slab, j)[r], Self::minima(slab, j)[r]);
        Self::quants(slab, j, r).map(|q| d * f32::from(q) + m)
    }

    /// The [`weights`](Quantized::weights) of block `j` of row `r` as [`crate::scalar::matmul::dequantized_tile`]
    /// takes them: a product that is zero keeps its sign where there is no `m`.
    #[inline(always)] // Must take on the caller's target features.
    fn dequantize(slab: &Self::Slab, j: usize, r: usize) -> [f32; 32] {
        if Self::HAS_MIN {
            return Self::weights(slab, j, r);
        }
        let d = Self::scales(slab, j)[r];
        Self::quants(slab, j, r).map(|q| d * f32::from(q))
    }
}

/// `Σ q_i · x_i`, exact.
#[inline(always)] // Must take on the caller's target features.
fn dot(q: &[i8], x: &[i8]) -> i32 {
    let mut sum = 0;
    for (&q, &x) in q.iter().zip(x) {
        sum += i32::from(q) * i32::from(x);
    }
    sum
}

/// Hands each block of a row of the file to `put`, with its slab of two and its place there.
#[inline(always)] // `put` belongs into the loop.
fn put_blocks<const N: usize, S>(
    file_row: &[u8],
    slabs: &mut [S],
    put: impl Fn(&mut S, usize, &[u8; N]),
) {
    let (blocks, _) = file_row.as_chunks::<N>();
    let (pairs, last) = blocks.as_chunks::<2>();
    for (slab, [first, second]) in slabs.iter_mut().zip(pairs) {
        put(slab, 0, first);
        put(slab, 1, second);
    }
    if let ([block], Some(slab)) = (last, slabs.get_mut(pairs.len())) {
        put(slab, 0, block);
    }
}

/// Whether no f16, given as bits, is infinite or NaN.
#[inline(always)] // A few instructions where the number of values is known.
fn are_finite(bits: &[u16]) -> bool {
    const EXPONENT: u16 = 0x7C00;
    let special = |f16: &u16| u16::from(f16 & EXPONENT == EXPONENT);
    bits.iter().fold(0, |any, f16| any | special(f16)) == 0
}

/// The f16 at `at`, as bits.
fn f16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}
