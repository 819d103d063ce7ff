//! How keys and values are stored.

use crate::arena::Plain;
use crate::float::{f16_to_f32, f32_to_f16};
use crate::lanes::{F16x8, F32x8, I8x8};
use crate::scalar::quantize::round_to_i8;

/// Positions in a block.
pub const BLOCK: usize = 64;

/// Lanes in a unit without scales: keys and values of [`BLOCK`] positions.
pub const fn unit_len(head_dim: usize) -> usize {
    2 * head_dim * BLOCK / 8
}

/// Keys or values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Keys.
    Key,
    /// Values.
    Value,
}

/// An element format of the KV cache, eight to a lane.
pub trait KvFormat {
    /// Eight elements.
    type Lane: Plain + Send + Sync;
    /// Whether each position's key and value has a scale, behind the elements of a unit.
    const SCALED: bool = false;

    /// Lanes in a unit: keys, values and scales of [`BLOCK`] positions.
    fn unit_len(head_dim: usize) -> usize {
        unit_len(head_dim)
    }

    /// The eight values.
    fn widen(lane: &Self::Lane) -> [f32; 8];
    /// Puts `value` in place `i`.
    fn set(lane: &mut Self::Lane, i: usize, value: f32);

    /// The scale of position `at`.
    #[inline(always)] // Must take on the caller's target features.
    fn scale(_unit: &[Self::Lane], _head_dim: usize, _side: Side, _at: usize) -> f32 {
        1.0
    }

    /// Sets the scale of position `at`.
    fn set_scale(_unit: &mut [Self::Lane], _head_dim: usize, _side: Side, _at: usize, _d: f32) {}
}

/// f16.
pub enum KvF16 {}
/// f32.
pub enum KvF32 {}
/// Bytes, with a scale for each position's key and value.
pub enum KvI8 {}

impl KvFormat for KvF16 {
    type Lane = F16x8;

    #[inline(always)] // Must take on the caller's target features.
    fn widen(lane: &F16x8) -> [f32; 8] {
        lane.0.map(f16_to_f32)
    }

    #[inline(always)] // Must take on the caller's target features.
    fn set(lane: &mut F16x8, i: usize, value: f32) {
        lane.0[i] = f32_to_f16(value);
    }
}

impl KvFormat for KvF32 {
    type Lane = F32x8;

    #[inline(always)] // Must take on the caller's target features.
    fn widen(lane: &F32x8) -> [f32; 8] {
        lane.0
    }

    #[inline(always)] // Must take on the caller's target features.
    fn set(lane: &mut F32x8, i: usize, value: f32) {
        lane.0[i] = value;
    }
}

impl KvI8 {
    /// Where the scale of a position lies: a lane, and the byte in it.
    #[inline(always)] // Must take on the caller's target features.
    fn place(head_dim: usize, side: Side, at: usize) -> (usize, usize) {
        let scale = at + if side == Side::Key { 0 } else { BLOCK };
        (unit_len(head_dim) + scale / 2, scale % 2 * 4)
    }
}

impl KvFormat for KvI8 {
    type Lane = I8x8;
    const SCALED: bool = true;

    fn unit_len(head_dim: usize) -> usize {
        unit_len(head_dim) + 2 * BLOCK * size_of::<f32>() / size_of::<I8x8>()
    }

    #[inline(always)] // Must take on the caller's target features.
    fn widen(lane: &I8x8) -> [f32; 8] {
        lane.0.map(f32::from)
    }

    #[inline(always)] // Must take on the caller's target features.
    fn set(lane: &mut I8x8, i: usize, value: f32) {
        lane.0[i] = round_to_i8(value);
    }

    #[inline(always)] // Must take on the caller's target features.
    fn scale(unit: &[I8x8], head_dim: usize, side: Side, at: usize) -> f32 {
        let (lane, byte) = Self::place(head_dim, side, at);
        let bytes = core::array::from_fn(|i| unit[lane].0[byte + i] as u8);
        f32::from_le_bytes(bytes)
    }

    fn set_scale(unit: &mut [I8x8], head_dim: usize, side: Side, at: usize, d: f32) {
        let (lane, byte) = Self::place(head_dim, side, at);
        for (i, b) in d.to_le_bytes().into_iter().enumerate() {
            unit[lane].0[byte + i] = b as i8;
        }
    }
}
