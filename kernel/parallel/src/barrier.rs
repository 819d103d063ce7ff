//! Where the cores of a region wait for each other.

use core::panic::Location;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::MAX_CORES;
use crate::absence::{Absence, TURNS, Watch};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64};

/// A core's last arrival: step in the upper half, fingerprint in the lower. A cache line of its own.
#[repr(align(64))]
struct Arrival(AtomicU64);

/// The meeting point of a team's cores.
pub struct Barrier {
    arrivals: [Arrival; MAX_CORES],
    is_broken: AtomicBool,
    /// The team's number of the region's core 0.
    first: AtomicU32,
    /// One turn of a waiting loop.
    pub relax: fn(),
    /// Who is told of a core that does not come.
    pub watch: Option<Watch>,
}

impl Barrier {
    #[cfg(not(loom))]
    pub const fn new(relax: fn()) -> Self {
        Barrier {
            arrivals: [const { Arrival(AtomicU64::new(0)) }; MAX_CORES],
            is_broken: AtomicBool::new(false),
            first: AtomicU32::new(0),
            relax,
            watch: None,
        }
    }

    #[cfg(loom)]
    pub fn new(relax: fn()) -> Self {
        Barrier {
            arrivals: core::array::from_fn(|_| Arrival(AtomicU64::new(0))),
            is_broken: AtomicBool::new(false),
            first: AtomicU32::new(0),
            relax,
            watch: None,
        }
    }

    /// Begins anew at step 0, while no core is inside, for the team's cores from `first` on.
    pub fn reset(&self, first: usize) {
        self.first.store(first as u32, Relaxed);
        for arrival in &self.arrivals {
            arrival.0.store(0, Relaxed);
        }
    }

    /// Core `id` arrives at the end of its step, the `step`th, and waits for the others of `n`; `at` is where.
    ///
    /// # Panics
    /// When another core's fingerprint differs, or one has panicked; when the [`Watch`] does.
    pub fn meet(
        &self,
        [id, n]: [usize; 2],
        step: u32,
        fingerprint: u32,
        at: Option<&'static Location<'static>>,
    ) {
        let mine = u64::from(step) << 32 | u64::from(fingerprint);
        self.arrivals[id].0.store(mine, Release);
        for other in 0..n {
            let (mut turns, mut since) = (0_u32, None);
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
                turns = turns.wrapping_add(1);
                if turns.is_multiple_of(TURNS) {
                    since = self.tell(since, [id, other], their_step, at);
                }
            }
        }
    }

    #[cold]
    fn tell(
        &self,
        since: Option<u64>,
        [waiting, absent]: [usize; 2],
        step: u32,
        barrier: Option<&'static Location<'static>>,
    ) -> Option<u64> {
        let first = self.first.load(Relaxed) as usize;
        let absence = Absence {
            waiting: first + waiting,
            absent: first + absent,
            step: Some(step),
            barrier,
        };
        self.watch.map(|watch| watch(since, &absence))
    }

    /// The lender, the team's core 0, still waits for `others`, a bit each, to leave a region of `n` cores: tells of
    /// the one that is furthest behind.
    #[cold]
    pub fn tell_of_one_of(&self, since: Option<u64>, others: u32, n: usize) -> Option<u64> {
        let first = self.first.load(Relaxed) as usize;
        let step = |core: usize| {
            let arrival = self.arrivals[core - first].0.load(Relaxed);
            (arrival >> 32) as u32
        };
        let inside = (first..MAX_CORES).filter(|core| others & 1 << core != 0);
        let absent = inside.min_by_key(|&core| step(core))?;
        let absence = Absence {
            waiting: 0,
            absent,
            step: (n > 1).then(|| step(absent)),
            barrier: None,
        };
        self.watch.map(|watch| watch(since, &absence))
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
