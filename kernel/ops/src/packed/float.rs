//! F32, F16 and BF16 weights: sixteen columns of four rows to a chunk.

use super::MR;
use super::copy::put;
use crate::arena::Plain;
use crate::float::{bf16_to_f32, f16_to_f32};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A float format.
pub trait Float {
    /// Four rows, sixteen columns.
    type Chunk: Plain + Send + Sync;

    /// The sixteen weights of row `r`.
    fn widen(chunk: &Self::Chunk, r: usize) -> [f32; 16];
    /// Puts one row of the file into row `r` of `chunks`; columns that the row lacks stay 0.
    fn pack_row(file_row: &[u8], r: usize, chunks: &mut [Self::Chunk]);
}

/// Four rows of sixteen floats.
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(16))]
pub struct Chunk32 {
    /// Weights.
    pub w: [[f32; 16]; MR],
}

/// Four rows of sixteen f16 or bf16 values, as bits.
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(16))]
pub struct Chunk16 {
    /// Weights, as bits.
    pub w: [[u16; 16]; MR],
}

/// IEEE single precision.
pub enum F32 {}
/// IEEE f16.
pub enum F16 {}
/// The upper half of an IEEE single.
pub enum Bf16 {}

impl Float for F32 {
    type Chunk = Chunk32;

    #[inline(always)] // Must take on the caller's target features.
    fn widen(chunk: &Chunk32, r: usize) -> [f32; 16] {
        chunk.w[r]
    }

    fn pack_row(file_row: &[u8], r: usize, chunks: &mut [Chunk32]) {
        let (whole, rest) = file_row.as_chunks::<64>();
        for (chunk, bytes) in chunks.iter_mut().zip(whole) {
            put(bytes, &mut chunk.w[r]);
        }
        if let [.., last] = chunks {
            last.w[r].as_mut_bytes()[..rest.len()].copy_from_slice(rest);
        }
    }
}

impl Float for F16 {
    type Chunk = Chunk16;

    #[inline(always)] // Must take on the caller's target features.
    fn widen(chunk: &Chunk16, r: usize) -> [f32; 16] {
        chunk.w[r].map(f16_to_f32)
    }

    fn pack_row(file_row: &[u8], r: usize, chunks: &mut [Chunk16]) {
        pack_u16(file_row, r, chunks);
    }
}

impl Float for Bf16 {
    type Chunk = Chunk16;

    #[inline(always)] // Must take on the caller's target features.
    fn widen(chunk: &Chunk16, r: usize) -> [f32; 16] {
        chunk.w[r].map(bf16_to_f32)
    }

    fn pack_row(file_row: &[u8], r: usize, chunks: &mut [Chunk16]) {
        pack_u16(file_row, r, chunks);
    }
}

fn pack_u16(file_row: &[u8], r: usize, chunks: &mut [Chunk16]) {
    let (whole, rest) = file_row.as_chunks::<32>();
    for (chunk, bytes) in chunks.iter_mut().zip(whole) {
        put(bytes, &mut chunk.w[r]);
    }
    if let [.., last] = chunks {
        last.w[r].as_mut_bytes()[..rest.len()].copy_from_slice(rest);
    }
}
