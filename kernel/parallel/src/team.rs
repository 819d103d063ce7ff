//! A pool's cores: one lends a region to the others and has it back before it goes on.

use core::ops::Range;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::MAX_CORES;
use crate::absence::TURNS;
#[cfg(not(loom))]
use crate::absence::Watch;
use crate::barrier::Barrier;
use crate::member::Core;
use crate::region::Region;
use crate::sync::{AtomicU32, UnsafeCell};

type Body = dyn Fn(&mut Core<'_>) + Sync;

/// The bit in [`Team::inside`] of the core that lends.
const LENDER: u32 = 1 << 31;

#[derive(Clone, Copy)]
struct Lent {
    body: *const Body,
    region: Region,
    /// The core with number 0 in the region.
    first: usize,
    n: usize,
}

/// The cores of one pool, numbered from the one that starts the regions.
///
/// That one calls [`Team::run`] or [`Team::run_beside`]; every other calls [`Team::serve`] again and again, or when it
/// is told to.
pub struct Team {
    barrier: Barrier,
    /// Cores that are to come to the region lent, a bit each.
    called: AtomicU32,
    /// Cores that may still use it, called ones included, and its lender.
    inside: AtomicU32,
    lent: UnsafeCell<Option<Lent>>,
}

// SAFETY: `lent` is written by the lender while it alone is in `inside`, and read by cores whose bit in `called`, set
// afterwards, they have cleared, before they leave `inside`. The body is `Sync`.
unsafe impl Sync for Team {}

impl Team {
    /// A team whose waiting loops call `relax` (a `yield` or `wfe`).
    #[cfg(not(loom))]
    pub const fn new(relax: fn()) -> Self {
        Team {
            barrier: Barrier::new(relax),
            called: AtomicU32::new(0),
            inside: AtomicU32::new(0),
            lent: UnsafeCell::new(None),
        }
    }

    /// As above; loom's atomics are not made at compile time.
    #[cfg(loom)]
    pub fn new(relax: fn()) -> Self {
        Team {
            barrier: Barrier::new(relax),
            called: AtomicU32::new(0),
            inside: AtomicU32::new(0),
            lent: UnsafeCell::new(None),
        }
    }

    /// This team, whose cores call `watch` when they wait long at a barrier, and its lender for the others to leave.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn watched(mut self, watch: Watch) -> Self {
        self.barrier.watch = Some(watch);
        self
    }

    /// Runs `region` on the cores `0..n`, of which the caller is core 0, and returns when all have left it. `call`
    /// makes the others [`serve`](Team::serve).
    ///
    /// # Panics
    /// When `n` is 0 or above [`MAX_CORES`], a region panics or has panicked before, or one is running.
    pub fn run(&self, n: usize, region: &(dyn Fn(&mut Core<'_>) + Sync), call: &mut dyn FnMut()) {
        self.lend(0..n, region, call, &mut || {
            self.serve(0);
        });
    }

    /// Runs `main` and, beside it, `region` on the cores `1..n`, as the cores 0, 1, … of it. Alone, the caller does one
    /// after the other.
    ///
    /// # Panics
    /// As [`Team::run`]; and when `main` panics, after the others have left the region.
    pub fn run_beside(
        &self,
        n: usize,
        main: &mut dyn FnMut(),
        region: &(dyn Fn(&mut Core<'_>) + Sync),
        call: &mut dyn FnMut(),
    ) {
        if n == 1 {
            main();
            self.run(1, region, call);
        } else {
            self.lend(1..n, region, call, main);
        }
    }

    /// Whether core `core` is to come to a region.
    pub fn is_called(&self, core: usize) -> bool {
        core < MAX_CORES && self.called.load(Relaxed) & 1 << core != 0
    }

    /// Runs, as core `core`, the region it is called to, if any; says whether there was one.
    ///
    /// # Panics
    /// When the region panics.
    pub fn serve(&self, core: usize) -> bool {
        if !self.is_called(core) {
            return false;
        }
        let bit = 1 << core;
        if self.called.fetch_and(!bit, Acquire) & bit == 0 {
            return false;
        }
        let mut leave = Leave {
            team: self,
            bit,
            has_finished: false,
        };
        // SAFETY: this core has been called, and is inside until `leave` is dropped.
        if let Some(lent) = self.lent.with(|lent| unsafe { *lent }) {
            let mut core = Core::new(&self.barrier, lent.region, core - lent.first, lent.n);
            // SAFETY: the lender keeps it alive while a core is inside.
            unsafe { (*lent.body)(&mut core) };
            core.meet(None);
        }
        leave.has_finished = true;
        true
    }

    /// Lends `body` to `cores` while the caller does `meanwhile`.
    fn lend(
        &self,
        cores: Range<usize>,
        body: &(dyn Fn(&mut Core<'_>) + Sync),
        call: &mut dyn FnMut(),
        meanwhile: &mut dyn FnMut(),
    ) {
        let n = cores.len();
        assert!(n > 0 && cores.end <= MAX_CORES, "a region on {n} cores");
        self.barrier.assert_whole();
        let bits = (1 << cores.end) - (1 << cores.start);
        let was_free = self
            .inside
            .compare_exchange(0, LENDER | bits, Acquire, Relaxed);
        assert!(was_free.is_ok(), "a region begins while another runs");
        let region = Region::begin();
        self.barrier.reset(cores.start);
        self.lent.with_mut(|lent| {
            // SAFETY: the lifetime of a `Body` is for the lender to keep: `_end` waits until nobody is inside. Nobody
            // but the lender is inside without having been called.
            unsafe {
                let body =
                    core::mem::transmute::<&(dyn Fn(&mut Core<'_>) + Sync), *const Body>(body);
                *lent = Some(Lent {
                    body,
                    region,
                    first: cores.start,
                    n,
                });
            }
        });
        self.called.store(bits, Release);
        let mut end = End {
            team: self,
            region,
            n,
            have_been_called: false,
        };
        call();
        end.have_been_called = true;
        meanwhile();
        drop(end);
        self.barrier.assert_whole();
    }
}

/// Takes a core out of the region, and breaks the team if it goes by panic.
struct Leave<'t> {
    team: &'t Team,
    bit: u32,
    has_finished: bool,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if !self.has_finished {
            self.team.barrier.mark_broken();
        }
        self.team.inside.fetch_and(!self.bit, Release);
    }
}

/// Makes a panic of `relax` or the watch final: unwinding would free what other cores still work on.
struct Held;

impl Drop for Held {
    fn drop(&mut self) {
        panic!("the pause of a waiting lender panicked: its region cannot be left");
    }
}

/// Waits until all cores have left the region, however its lender goes on.
struct End<'t> {
    team: &'t Team,
    region: Region,
    n: usize,
    have_been_called: bool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let team = self.team;
        if !self.have_been_called {
            // Nobody may come for these.
            team.barrier.mark_broken();
            let absent = team.called.swap(0, Relaxed);
            team.inside.fetch_and(!absent, Relaxed);
        }
        let held = Held;
        let (mut turns, mut since) = (0_u32, None);
        loop {
            let others = team.inside.load(Acquire) & !LENDER;
            if others == 0 {
                break;
            }
            (team.barrier.relax)();
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(TURNS) {
                since = team.barrier.tell_of_one_of(since, others, self.n);
            }
        }
        core::mem::forget(held);
        self.region.end();
        team.inside.store(0, Release);
    }
}
