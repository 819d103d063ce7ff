//! The only loads and stores of vectors: aligned, in bounds, and free of byte-wise splitting.

use core::arch::aarch64::{float32x4_t, int8x8_t, int8x16_t, uint8x16_t, uint16x8_t};

use crate::arena::Plain;

/// A vector register's worth of numbers, or half of one.
///
/// # Safety
/// Bytes of which every pattern is a value.
pub unsafe trait Vector: Copy {}

// SAFETY: four floats.
unsafe impl Vector for float32x4_t {}
// SAFETY: sixteen bytes.
unsafe impl Vector for int8x16_t {}
// SAFETY: eight bytes.
unsafe impl Vector for int8x8_t {}
// SAFETY: sixteen bytes.
unsafe impl Vector for uint8x16_t {}
// SAFETY: eight 16-bit integers.
unsafe impl Vector for uint16x8_t {}

/// The vector at byte `offset` of an aligned value. With a constant offset this is one `ldr`.
#[inline(always)] // The checks fold away only where the offset is known.
pub fn load<V: Vector, T: Plain>(value: &T, offset: usize) -> V {
    const { assert!(align_of::<T>() >= size_of::<V>()) };
    assert!(offset.is_multiple_of(size_of::<V>()) && offset + size_of::<V>() <= size_of::<T>());
    // SAFETY: within `value` and aligned by the assertions; `Plain` makes its bytes initialised
    // and `Vector` takes any.
    unsafe {
        *core::ptr::from_ref(value)
            .cast::<u8>()
            .add(offset)
            .cast::<V>()
    }
}

/// Puts a vector at byte `offset` of an aligned value.
#[inline(always)] // The checks fold away only where the offset is known.
pub fn store<V: Vector, T: Plain>(value: &mut T, offset: usize, vector: V) {
    const { assert!(align_of::<T>() >= size_of::<V>()) };
    assert!(offset.is_multiple_of(size_of::<V>()) && offset + size_of::<V>() <= size_of::<T>());
    // SAFETY: within `value` and aligned by the assertions; `Plain` takes any bytes.
    unsafe {
        *core::ptr::from_mut(value)
            .cast::<u8>()
            .add(offset)
            .cast::<V>() = vector
    }
}

/// `v`, computed here: no load that comes later is moved before this.
///
/// Without it the compiler starts all products of a tile at once, runs out of registers and spills
/// half of them.
#[inline(always)] // An instruction's worth of nothing.
pub fn settle(v: float32x4_t) -> float32x4_t {
    let out;
    // SAFETY: no instruction; that it may touch memory is what keeps loads in place.
    unsafe {
        core::arch::asm!("/* {0:v} */", inlateout(vreg) v => out, options(nostack, preserves_flags));
    }
    out
}

/// −1 in every byte that has a bit in common with `bits`, else 0.
///
/// Of the intrinsic the compiler makes `and`, `cmeq` and `bic` where the result meets an `and`.
#[inline(always)] // One instruction.
pub fn test_bits(bytes: uint8x16_t, bits: uint8x16_t) -> int8x16_t {
    let mask;
    // SAFETY: one instruction, on registers alone.
    unsafe {
        core::arch::asm!(
            "cmtst {mask:v}.16b, {bytes:v}.16b, {bits:v}.16b",
            mask = lateout(vreg) mask,
            bytes = in(vreg) bytes,
            bits = in(vreg) bits,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    mask
}
