//! Q8_0: 32 weights in 34 bytes, an f16 scale `d` and 32 signed bytes. Weight `i` is `d · q_i`.

use super::copy::{bytes_at, put};
use super::{MR, Quantized, are_finite, f16_at, put_blocks};
use crate::float::f16_to_f32;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Four rows of two blocks in 272 bytes.
///
/// ```text
///   0  d of block 0, rows 0 1 2 3 · d of block 1, rows 0 1 2 3      (f16)
///  16  block 0: row 0, 32 bytes · row 1 · row 2 · row 3
/// 144  block 1: row 0, 32 bytes · row 1 · row 2 · row 3
/// ```
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(16))]
pub struct Slab {
    /// Scales, as bits.
    pub d: [[u16; MR]; 2],
    /// Weights.
    pub q: [[[i8; 32]; MR]; 2],
}

const _: () = assert!(size_of::<Slab>() == 2 * MR * 34);

/// The format.
pub enum Q8_0 {}

impl Quantized for Q8_0 {
    type Slab = Slab;
    const BLOCKS: usize = 2;

    #[inline(always)] // Must take on the caller's target features.
    fn quants(slab: &Slab, j: usize, r: usize) -> [i8; 32] {
        slab.q[j][r]
    }

    #[inline(always)] // Must take on the caller's target features.
    fn scales(slab: &Slab, j: usize) -> [f32; MR] {
        slab.d[j].map(f16_to_f32)
    }

    fn is_finite(slab: &Slab) -> bool {
        are_finite(slab.d.as_flattened())
    }

    fn pack_row(file_row: &[u8], r: usize, slabs: &mut [Slab]) {
        put_blocks::<34, _>(file_row, slabs, |slab, j, block| {
            slab.d[j][r] = f16_at(block, 0);
            put::<32, _>(bytes_at(block, 2), &mut slab.q[j][r]);
        });
    }
}
