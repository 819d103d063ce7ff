//! A buffer in pieces, one a core.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Release};

use crate::MAX_CORES;
use crate::sync::AtomicBool;

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
            taken: core::array::from_fn(|_| AtomicBool::new(false)),
            owned: PhantomData,
        }
    }

    /// How many cores have a piece.
    pub fn n_cores(&self) -> usize {
        self.n_cores
    }

    /// Core `id`'s piece, outside any region.
    pub fn get_mut(&mut self, id: usize) -> &mut [T] {
        // SAFETY: `self` is borrowed alone, so that no guard lives.
        unsafe { self.piece(id).as_mut() }
    }

    pub(crate) fn take(&self, id: usize) -> Own<'_, T> {
        let piece = self.piece(id);
        let was_taken = self.taken[id].swap(true, Acquire);
        assert!(!was_taken, "core {id} takes a private buffer twice");
        Own {
            piece,
            taken: &self.taken[id],
            owned: PhantomData,
        }
    }

    fn piece(&self, id: usize) -> NonNull<[T]> {
        assert!(id < self.n_cores, "piece {id} of {}", self.n_cores);
        // SAFETY: in bounds of a `&'a mut [T]` that this owns, so not null either.
        let start = unsafe { NonNull::new_unchecked(self.start.add(id * self.len_each)) };
        NonNull::slice_from_raw_parts(start, self.len_each)
    }
}

/// A core's piece of a [`Private`]. A pointer, not a reference: a reference would count as in use until the drop of
/// this has ended, when another holder may have the piece.
pub struct Own<'p, T> {
    piece: NonNull<[T]>,
    taken: &'p AtomicBool,
    owned: PhantomData<&'p mut [T]>,
}

impl<T> Deref for Own<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `taken` says that nobody else holds this piece, until this is dropped.
        unsafe { self.piece.as_ref() }
    }
}

impl<T> DerefMut for Own<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { self.piece.as_mut() }
    }
}

impl<T> Drop for Own<'_, T> {
    fn drop(&mut self) {
        self.taken.store(false, Release);
    }
}
