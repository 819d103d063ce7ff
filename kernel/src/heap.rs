//! The heap: vocabulary, strings, small vectors. Weights, KV cache and run state live in arenas.

use core::alloc::{GlobalAlloc, Layout};
use core::ops::Range;
use core::ptr::NonNull;

use linked_list_allocator::Heap;
use spin::Mutex;

/// Bytes of the heap.
pub const HEAP_BYTES: u64 = 48 << 20;

/// What the heap holds at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes handed out.
    pub used_bytes: usize,
    /// Bytes in all.
    pub total_bytes: usize,
}

struct Locked(Mutex<Heap>);

#[global_allocator]
static HEAP: Locked = Locked(Mutex::new(Heap::empty()));

// SAFETY: the lock serialises the calls, and `Heap` keeps the contract of an allocator. The interrupt
// handler does not allocate, so that the lock cannot be wanted by the code that it interrupted.
unsafe impl GlobalAlloc for Locked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = self.0.lock().allocate_first_fit(layout);
        block.map_or(core::ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(block) = NonNull::new(block) {
            // SAFETY: the caller got `block` from `alloc` with this layout.
            unsafe { self.0.lock().deallocate(block, layout) };
        }
    }
}

/// Gives the heap its memory. Once, before anything is allocated.
///
/// # Safety
/// `memory` is mapped RAM that nothing else uses.
pub unsafe fn init(memory: Range<u64>) {
    let bytes = (memory.end - memory.start) as usize;
    let start = core::ptr::with_exposed_provenance_mut(memory.start as usize);
    // SAFETY: the caller's.
    unsafe { HEAP.0.lock().init(start, bytes) };
}

/// What the heap holds now.
pub fn usage() -> Usage {
    let heap = HEAP.0.lock();
    Usage {
        used_bytes: heap.used(),
        total_bytes: heap.size(),
    }
}
