//! Where the cores of a region wait for each other.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::MAX_CORES;
use crate::sync::{AtomicBool, AtomicU64};

/// A core's last arrival: step in the upper half, fingerprint in the lower. A cache line of its own.
#[repr(align(64))]
struct Arrival(AtomicU64);

/// The meeting point of a team's cores.
pub struct Barrier {
    arrivals: [Arrival; MAX_CORES],
    is_broken: AtomicBool,
    /// One turn of a waiting loop.
    pub relax: fn(),
}

impl Barrier {
    #[cfg(not(loom))]
    pub const fn new(relax: fn()) -> Self {
        Barrier {
            arrivals: [const { Arrival(AtomicU64::new(0)) }; MAX_CORES],
            is_broken: AtomicBool::new(false),
            relax,
        }
    }

    #[cfg(loom)]
    pub fn new(relax: fn()) -> Self {
        Barrier {
            arrivals: core::array::from_fn(|_| Arrival(AtomicU64::new(0))),
            is_broken: AtomicBool::new(false),
            relax,
        }
    }

    /// Begins anew at step 0, while no core is inside.
    pub fn reset(&self) {
        for arrival in &self.arrivals {
            arrival.0.store(0, Relaxed);
        }
    }

    /// Core `id` arrives at the end of its step, the `step`th, and waits for the others of `n`.
    ///
    /// # Panics
    /// When another core's fingerprint differs, or one has panicked.
    pub fn meet(&self, id: usize, n: usize, step: u32, fingerprint: u32) {
        let mine = u64::from(step) << 32 | u64::from(fingerprint);
        self.arrivals[id].0.store(mine, Release);
        for other in 0..n {
            loop {
                let theirs = self.arrivals[other].0.load(Acquire);
                let their_step = (theirs >> 32) as u32;
                // A core that is one step ahead has compared with this one before it went on.
                if theirs == mine || their_step == step.wrapping_add(1) {
                    break;
                }
                assert!(
                    their_step != step,
                    "cores {id} and {other} diverged at step {step}"
                );
                self.assert_whole();
                (self.relax)();
            }
        }
    }

    /// A core will not arrive any more.
    pub fn mark_broken(&self) {
        self.is_broken.store(true, Relaxed);
    }

    /// # Panics
    /// When a core has panicked.
    pub fn assert_whole(&self) {
        let is_broken = self.is_broken.load(Relaxed);
        assert!(!is_broken, "another core of this region panicked");
    }
}
