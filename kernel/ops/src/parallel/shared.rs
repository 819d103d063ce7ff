//! The buffers of a region.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, Ordering::*};

use super::MAX_CORES;

/// A buffer that all cores of a region use, by turns read whole and written in parts.
pub struct Shared<'a, T> {
    pub(super) start: *mut T,
    pub(super) len: usize,
    owned: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Shared` is a `&mut [T]`; what cores may do with it at once is governed by `Core`.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above; cores both read and write the values, hence both bounds.
unsafe impl<T: Send + Sync> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// Shares `values`.
    pub fn new(values: &'a mut [T]) -> Self {
        Shared {
            start: values.as_mut_ptr(),
            len: values.len(),
            owned: PhantomData,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The values, outside any region.
    pub fn get_mut(&mut self) -> &mut [T] {
        // SAFETY: made from a `&'a mut [T]` that this owns, and `self` is borrowed alone.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

/// A buffer in equal pieces, one a core.
pub struct Private<'a, T> {
    start: *mut T,
    len_each: usize,
    n_cores: usize,
    taken: [AtomicBool; MAX_CORES],
    owned: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Private` is a `&mut [T]`, whose pieces go to one core each.
unsafe impl<T: Send> Send for Private<'_, T> {}
// SAFETY: `taken` gives each piece to one holder at a time.
unsafe impl<T: Send> Sync for Private<'_, T> {}

impl<'a, T> Private<'a, T> {
    /// Cuts `values` into `n_cores` equal pieces.
    ///
    /// # Panics
    /// When `n_cores` is 0 or above [`MAX_CORES`].
    pub fn new(values: &'a mut [T], n_cores: usize) -> Self {
        assert!(
            (1..=MAX_CORES).contains(&n_cores),
            "pieces for {n_cores} cores"
        );
        Private {
            start: values.as_mut_ptr(),
            len_each: values.len() / n_cores,
            n_cores,
            taken: [const { AtomicBool::new(false) }; MAX_CORES],
            owned: PhantomData,
        }
    }

    /// How many cores have a piece.
    pub fn n_cores(&self) -> usize {
        self.n_cores
    }

    /// Core `id`'s piece, outside any region.
    pub fn get_mut(&mut self, id: usize) -> &mut [T] {
        assert!(id < self.n_cores, "piece {id} of {}", self.n_cores);
        // SAFETY: in bounds, made from a `&'a mut [T]` that this owns, and `self` is borrowed
        // alone, so that no guard lives.
        unsafe {
            core::slice::from_raw_parts_mut(self.start.add(id * self.len_each), self.len_each)
        }
    }

    pub(super) fn take(&self, id: usize) -> Own<'_, T> {
        assert!(id < self.n_cores, "piece {id} of {}", self.n_cores);
        let was_taken = self.taken[id].swap(true, Acquire);
        assert!(!was_taken, "core {id} takes a private buffer twice");
        // SAFETY: in bounds; `taken` says that nobody else holds this piece, and the guard gives
        // it back only when dropped.
        let piece = unsafe {
            core::slice::from_raw_parts_mut(self.start.add(id * self.len_each), self.len_each)
        };
        Own {
            piece,
            taken: &self.taken[id],
        }
    }
}

/// A core's piece of a [`Private`].
pub struct Own<'p, T> {
    piece: &'p mut [T],
    taken: &'p AtomicBool,
}

impl<T> Deref for Own<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.piece
    }
}

impl<T> DerefMut for Own<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.piece
    }
}

impl<T> Drop for Own<'_, T> {
    fn drop(&mut self) {
        self.taken.store(false, Release);
    }
}
