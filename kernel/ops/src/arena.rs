//! A bump arena: typed, zeroed slices out of one run of 64-byte lines.
//!
//! The kernel makes one from RAM, the host from a `Vec<Line>`. Nothing is ever given back; an
//! arena is dropped whole. What is needed for a while only comes from [`Arena::scratch`].

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// One cache line of the Cortex-A72: what an arena is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line([u8; 64]);

impl Line {
    /// Bytes in a line.
    pub const BYTES: usize = 64;
    /// A line of zeros.
    pub const ZERO: Line = Line([0; 64]);
}

/// Types for which every bit pattern is a value, so that zeroed memory is one, and every byte is a number's.
///
/// # Safety
/// The type has no padding, no reference, no invalid bit pattern and no `Drop`.
pub unsafe trait Plain: Copy + 'static {}

// SAFETY: `FromBytes` is any bit pattern, `IntoBytes` no padding, `Immutable` no cell, `Copy` no `Drop`.
unsafe impl<T: FromBytes + Immutable + IntoBytes + Copy + 'static> Plain for T {}

/// The arena has less room than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{needed_bytes} bytes of memory needed and {free_bytes} left")]
pub struct OutOfMemory {
    /// Bytes that the slice needs.
    pub needed_bytes: u64,
    /// Bytes that were left.
    pub free_bytes: u64,
}

/// A run of lines, given out from the front.
pub struct Arena<'a> {
    free: &'a mut [Line],
}

impl<'a> Arena<'a> {
    /// An arena over `lines`.
    pub fn new(lines: &'a mut [Line]) -> Self {
        Arena { free: lines }
    }

    /// Bytes left.
    pub fn free_bytes(&self) -> u64 {
        self.free.len() as u64 * Line::BYTES as u64
    }

    /// A zeroed slice of `len` values that starts on a 64-byte line.
    ///
    /// # Errors
    /// [`OutOfMemory`] when the lines left do not hold it; the arena is then as before.
    pub fn slice<T: Plain>(&mut self, len: usize) -> Result<&'a mut [T], OutOfMemory> {
        const { assert!(align_of::<T>() <= align_of::<Line>()) };
        // A product that wrapped would give few lines for many values.
        let lines = self.take((len as u64).saturating_mul(size_of::<T>() as u64))?;
        lines.fill(Line::ZERO);
        let start = lines.as_mut_ptr().cast::<T>();
        // SAFETY: `take` gave lines for `len` values, owned by nobody else for 'a; their start is
        // aligned for `T` (checked above) and `Plain` makes zeroed bytes values of `T`.
        Ok(unsafe { core::slice::from_raw_parts_mut(start, len) })
    }

    /// An arena over what is left: all that it gives out is free again when the borrow ends.
    pub fn scratch(&mut self) -> Arena<'_> {
        Arena { free: self.free }
    }

    fn take(&mut self, bytes: u64) -> Result<&'a mut [Line], OutOfMemory> {
        let n_lines = bytes.div_ceil(Line::BYTES as u64);
        if n_lines > self.free.len() as u64 {
            return Err(OutOfMemory {
                needed_bytes: bytes,
                free_bytes: self.free_bytes(),
            });
        }
        let (taken, rest) = core::mem::take(&mut self.free).split_at_mut(n_lines as usize);
        self.free = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_zeroed_aligned_and_disjoint() {
        let mut lines = vec![Line([0xA5; 64]); 8];
        let mut arena = Arena::new(&mut lines);
        let a = arena.slice::<f32>(17).unwrap();
        let b = arena.slice::<u8>(1).unwrap();
        assert!(a.iter().all(|&v| v == 0.0) && b[0] == 0);
        assert_eq!(a.as_ptr().addr() % 64, 0);
        assert_eq!(b.as_ptr().addr(), a.as_ptr().addr() + 128);
        assert_eq!(arena.free_bytes(), 5 * 64);
    }

    #[test]
    fn scratch_is_free_again() {
        let mut lines = vec![Line::ZERO; 4];
        let mut arena = Arena::new(&mut lines);
        arena.slice::<u8>(64).unwrap();
        let mut scratch = arena.scratch();
        scratch.slice::<u8>(100).unwrap().fill(1);
        assert_eq!(scratch.free_bytes(), 64);
        assert_eq!(arena.free_bytes(), 3 * 64);
        assert!(arena.slice::<u8>(3 * 64).unwrap().iter().all(|&b| b == 0));
    }

    #[test]
    fn too_much_is_refused_and_changes_nothing() {
        let mut lines = vec![Line::ZERO; 2];
        let mut arena = Arena::new(&mut lines);
        let refused = arena.slice::<f32>(33).unwrap_err();
        assert_eq!(
            refused,
            OutOfMemory {
                needed_bytes: 132,
                free_bytes: 128
            }
        );
        // Its bytes wrap to none.
        assert!(arena.slice::<u64>(1 << 61).is_err());
        assert!(arena.slice::<f32>(32).is_ok());
        assert_eq!(arena.free_bytes(), 0);
    }
}
