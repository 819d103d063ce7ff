//! Q5_0: 32 weights in 22 bytes, an f16 scale `d`, 32 fifth bits and 16 bytes of nibbles. Weight `i`
//! is `d · (q_i − 16)`.

use super::copy::{bytes_at, put};
use super::nibbles::{self, Nibbles, Plane};
use super::{MR, Quantized, are_finite, f16_at, put_blocks};
use crate::float::f16_to_f32;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Four rows of two blocks in 176 bytes: scales, a plane of fifth bits a block, nibbles.
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(16))]
pub struct Slab {
    /// Scales, as bits.
    pub d: [[u16; MR]; 2],
    /// Fifth bits.
    pub high: [Plane; 2],
    /// Low four bits.
    pub q: [[Nibbles; MR]; 2],
}

const _: () = assert!(size_of::<Slab>() == 2 * MR * 22);

/// The format.
pub enum Q5_0 {}

impl Quantized for Q5_0 {
    type Slab = Slab;
    const BLOCKS: usize = 2;

    #[inline(always)] // Must take on the caller's target features.
    fn quants(slab: &Slab, j: usize, r: usize) -> [i8; 32] {
        nibbles::unpack_five(&slab.q[j][r], &slab.high[j], r).map(|q| q as i8 - 16)
    }

    #[inline(always)] // Must take on the caller's target features.
    fn scales(slab: &Slab, j: usize) -> [f32; MR] {
        slab.d[j].map(f16_to_f32)
    }

    fn is_finite(slab: &Slab) -> bool {
        are_finite(slab.d.as_flattened())
    }

    fn pack_row(file_row: &[u8], r: usize, slabs: &mut [Slab]) {
        put_blocks::<22, _>(file_row, slabs, |slab, j, block| {
            slab.d[j][r] = f16_at(block, 0);
            nibbles::set_bits(&mut slab.high[j], r, nibbles::fifth_bits(&block[2..6]));
            put::<16, _>(bytes_at(block, 6), &mut slab.q[j][r]);
        });
    }
}
