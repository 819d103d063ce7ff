//! A buffer that all cores of a region use.

use core::marker::PhantomData;

use crate::claim::Record;

/// A buffer that all cores of a region use, by turns read whole and written in parts.
pub struct Shared<'a, T> {
    pub(crate) start: *mut T,
    len: usize,
    pub(crate) record: Record,
    owned: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Shared` is a `&mut [T]` and a record without threads' ties.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: the record has a lock, by which it says who may have which values; cores both read and write
// them, hence both bounds.
unsafe impl<T: Send + Sync> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// Shares `values`.
    pub fn new(values: &'a mut [T]) -> Self {
        Shared {
            start: values.as_mut_ptr(),
            len: values.len(),
            record: Record::new(),
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
