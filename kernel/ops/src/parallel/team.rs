//! The meeting point of a pool's cores.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

use super::{Core, MAX_CORES};

/// One cache line per flag: step number in the upper half, fingerprint in the lower.
#[repr(align(64))]
pub(super) struct Flag {
    pub(super) step: AtomicU64,
    inside: AtomicBool,
    /// Whether the core has left the region begun last.
    left: AtomicBool,
}

/// The meeting point of the cores of one pool.
///
/// The core that starts a region calls [`Team::begin`], publishes the region to the others, and
/// every core, itself included, then calls [`Team::enter`]. If it does something else meanwhile, it
/// calls [`Team::begin_beside`], is no member of the region, and ends with [`Team::join`].
pub struct Team {
    pub(super) flags: [Flag; MAX_CORES],
    n_cores: AtomicU32,
    /// The region begun runs beside its starter, who has not joined it yet.
    beside: AtomicBool,
    broken: AtomicBool,
    relax: fn(),
}

impl Team {
    /// A team whose waiting loops call `relax` (a `yield` or `wfe`).
    pub const fn new(relax: fn()) -> Self {
        Team {
            flags: [const {
                Flag {
                    step: AtomicU64::new(0),
                    inside: AtomicBool::new(false),
                    left: AtomicBool::new(false),
                }
            }; MAX_CORES],
            n_cores: AtomicU32::new(0),
            beside: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            relax,
        }
    }

    /// Makes ready for a region on cores `0..n_cores`, once the last region's cores have left.
    ///
    /// # Panics
    /// When `n_cores` is 0 or above [`MAX_CORES`], a region panicked before, or one is being run
    /// beside the caller.
    pub fn begin(&self, n_cores: usize) {
        let is_beside = self.beside.load(Relaxed);
        assert!(!is_beside, "a region begins while another runs beside it");
        assert!(
            (1..=MAX_CORES).contains(&n_cores),
            "a region on {n_cores} cores"
        );
        // All first: a core that is still inside its last meeting compares with the others' steps.
        for flag in &self.flags {
            while flag.inside.load(Acquire) {
                self.wait();
            }
        }
        for flag in &self.flags {
            flag.step.store(0, Relaxed);
            flag.left.store(false, Relaxed);
        }
        self.n_cores.store(n_cores as u32, Release);
    }

    /// [`Team::begin`] for a caller who is no member of the region.
    ///
    /// # Panics
    /// As [`Team::begin`].
    pub fn begin_beside(&self, n_cores: usize) {
        self.begin(n_cores);
        self.beside.store(true, Relaxed);
    }

    /// Waits until every core of the region begun by [`Team::begin_beside`] has left it: what the
    /// region borrows is the caller's again, and what it wrote can be seen.
    ///
    /// # Panics
    /// When one of them panicked.
    pub fn join(&self) {
        let n_cores = self.n_cores.load(Relaxed) as usize;
        for flag in &self.flags[..n_cores] {
            while !flag.left.load(Acquire) {
                (self.relax)();
            }
        }
        self.beside.store(false, Relaxed);
        self.assert_whole();
    }

    /// Runs `region` as core `id` and returns when every core of the region has finished it.
    ///
    /// # Panics
    /// When the core is no member of the region begun, is inside already, or diverges.
    pub fn enter(&self, id: usize, region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        let n_cores = self.n_cores.load(Acquire) as usize;
        assert!(id < n_cores, "core {id} enters a region of {n_cores} cores");
        let was_inside = self.flags[id].inside.swap(true, Acquire);
        assert!(!was_inside, "core {id} enters a region twice");
        let _leave = Leave { team: self, id };
        let mut core = Core::new(self, id, n_cores);
        region(&mut core);
        core.meet();
    }

    /// One turn of a waiting loop.
    pub(super) fn wait(&self) {
        self.assert_whole();
        (self.relax)();
    }

    fn assert_whole(&self) {
        let is_broken = self.broken.load(Relaxed);
        assert!(!is_broken, "another core of this region panicked");
    }
}

/// Marks a core as gone, and the team as broken if it goes by panic.
struct Leave<'t> {
    team: &'t Team,
    id: usize,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        #[cfg(not(target_os = "none"))]
        if std::thread::panicking() {
            self.team.broken.store(true, Relaxed);
        }
        let flag = &self.team.flags[self.id];
        flag.left.store(true, Release);
        flag.inside.store(false, Release);
    }
}
