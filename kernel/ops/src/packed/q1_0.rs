//! Q1_0: 128 weights in 18 bytes, an f16 scale `d` and 16 bytes with a bit for each. Weight `i` is `d` where
//! bit `i % 8` of byte `i / 8` is set, else `−d`.

use super::nibbles::{self, Plane};
use super::{MR, Quantized, are_finite, f16_at, put_blocks};
use crate::float::f16_to_f32;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Four rows of eight blocks of 32, two of the file, in 144 bytes: scales, then a plane of signs a block.
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(16))]
pub struct Slab {
    /// Scales, as bits.
    pub d: [[u16; MR]; 2],
    /// Signs: 1 for `d`, 0 for `−d`.
    pub plus: [Plane; 8],
}

const _: () = assert!(size_of::<Slab>() == 2 * MR * 18);

/// The format.
pub enum Q1_0 {}

impl Quantized for Q1_0 {
    type Slab = Slab;
    const BLOCKS: usize = 8;

    #[inline(always)] // Must take on the caller's target features.
    fn quants(slab: &Slab, j: usize, r: usize) -> [i8; 32] {
        nibbles::bits(&slab.plus[j], r).map(|plus| 2 * plus as i8 - 1)
    }

    #[inline(always)] // Must take on the caller's target features.
    fn scales(slab: &Slab, j: usize) -> [f32; MR] {
        slab.d[j / 4].map(f16_to_f32)
    }

    fn is_finite(slab: &Slab) -> bool {
        are_finite(slab.d.as_flattened())
    }

    fn pack_row(file_row: &[u8], r: usize, slabs: &mut [Slab]) {
        put_blocks::<18, _>(file_row, slabs, |slab, half, block| {
            slab.d[half][r] = f16_at(block, 0);
            let (words, _) = block[2..].as_chunks::<4>();
            for (plane, word) in slab.plus[4 * half..].iter_mut().zip(words) {
                nibbles::set_bits(plane, r, nibbles::fifth_bits(word));
            }
        });
    }
}
