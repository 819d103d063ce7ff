//! Memory in 16-byte lanes, so that every NEON load is an aligned one.
//!
//! The target forbids unaligned access: a `vld1q` on a slice is split into bytes. All that a
//! kernel streams through is therefore made of the types here and in [`crate::packed`].
//!
//! A *panel* holds the vectors of `n` tokens, four values of one token side by side:
//! value `i` of token `t` is lane `i % 4` of element `(i / 4) · n + t`. With one token it is the
//! plain vector; with more, rows are still cut into contiguous parts.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Four floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(16))]
pub struct F32x4(pub [f32; 4]);

/// Eight f16 values, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(16))]
pub struct F16x8(pub [u16; 8]);

/// Eight floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(16))]
pub struct F32x8(pub [f32; 8]);

/// Eight bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(8))]
pub struct I8x8(pub [i8; 8]);

impl F32x4 {
    /// Four zeros.
    pub const ZERO: F32x4 = F32x4([0.0; 4]);

    /// How many hold `n` values.
    pub const fn count(n: usize) -> usize {
        n.div_ceil(4)
    }
}

/// The floats of `lanes`, in order.
pub fn flat(lanes: &[F32x4]) -> &[f32] {
    // SAFETY: `F32x4` is four floats without padding.
    unsafe { core::slice::from_raw_parts(lanes.as_ptr().cast(), lanes.len() * 4) }
}

/// The floats of `lanes`, in order.
pub fn flat_mut(lanes: &mut [F32x4]) -> &mut [f32] {
    // SAFETY: `F32x4` is four floats without padding, and `lanes` is borrowed alone.
    unsafe { core::slice::from_raw_parts_mut(lanes.as_mut_ptr().cast(), lanes.len() * 4) }
}
