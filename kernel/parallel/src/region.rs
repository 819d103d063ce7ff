//! The regions that are running, of all pools: what a region claimed binds nobody once it has ended.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sync::AtomicU64;

/// Regions that can run at once.
const SLOTS: usize = if cfg!(loom) { 2 } else { 64 };

/// Each an odd number while a region runs.
#[cfg(not(loom))]
static RUNNING: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
#[cfg(loom)]
loom::lazy_static! {
    static ref RUNNING: [AtomicU64; SLOTS] = Default::default();
}

/// A run of a region: no two are equal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Region {
    slot: usize,
    number: u64,
}

impl Region {
    /// A region that runs from now on.
    ///
    /// # Panics
    /// When too many run at once.
    pub fn begin() -> Region {
        for (slot, running) in RUNNING.iter().enumerate() {
            let free = running.load(Relaxed);
            let number = free + 1;
            // Acquire: who sees this region ended sees the slot's former ones ended too.
            if free % 2 == 0
                && running
                    .compare_exchange(free, number, Acquire, Relaxed)
                    .is_ok()
            {
                return Region { slot, number };
            }
        }
        panic!("more than {SLOTS} regions at once");
    }

    /// Ends it, after the last access of its cores.
    pub fn end(self) {
        RUNNING[self.slot].store(self.number + 1, Release);
    }

    /// Whether it runs. If not, its accesses happened before.
    pub fn is_running(self) -> bool {
        RUNNING[self.slot].load(Acquire) == self.number
    }
}
