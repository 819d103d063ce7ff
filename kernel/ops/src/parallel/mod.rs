//! Several cores, one program: the barrier, and the room where disjoint rows are handed out.
//!
//! A *region* is one closure that every core runs from start to end. Between two barriers (a
//! *step*) a [`Shared`] buffer is either read by all cores or cut into disjoint parts, one part a
//! core. What makes that sound:
//!
//! * slices given out by [`Core::read`] and [`Core::part`] borrow the [`Core`], and
//!   [`Core::barrier`] takes it mutably, so no slice outlives its step;
//! * each core keeps a log of the step's accesses and panics when a buffer is used both ways, or
//!   cut twice;
//! * all cores run the same sequence. Each access is folded into a fingerprint that the cores
//!   compare at the barrier: cores that diverge panic there.
//!
//! A region must therefore not branch on anything that differs between cores. Its closure sees
//! [`Core::id`] for counting only; work is divided by [`Core::share`].
//!
//! [`Cores::run_beside`] runs a region on all cores but the caller's, which does something that only
//! it can do: talk to a device. Neither sees what the other has borrowed mutably: the compiler keeps
//! the two closures apart, and the caller goes on when both have ended.

mod region;
mod shared;
mod team;

#[cfg(test)]
mod tests;

pub use region::Core;
pub use shared::{Own, Private, Shared};
pub use team::Team;

/// More cores than any machine this runs on will use.
pub const MAX_CORES: usize = 16;

/// What a region runs on.
pub trait Cores: Sync {
    /// How many cores run a region.
    fn n_cores(&self) -> usize;
    /// Runs `region` on every core and returns when all have finished.
    fn run(&self, region: &(dyn Fn(&mut Core<'_>) + Sync));
    /// Runs `main` on the calling core and, beside it, `region` on the others, as a team of
    /// [`n_beside`](Cores::n_beside) cores; returns when all have finished. A single core does one
    /// after the other.
    ///
    /// # Panics
    /// When `main` starts a region, or either of the two panics.
    fn run_beside(&self, main: &mut dyn FnMut(), region: &(dyn Fn(&mut Core<'_>) + Sync));
    /// How many cores run the region of [`run_beside`](Cores::run_beside).
    fn n_beside(&self) -> usize {
        self.n_cores().max(2) - 1
    }
}

/// One core: the caller's.
pub struct Serial {
    team: Team,
}

impl Serial {
    /// A pool of the calling core alone.
    pub const fn new() -> Self {
        Serial {
            team: Team::new(core::hint::spin_loop),
        }
    }
}

impl Default for Serial {
    fn default() -> Self {
        Self::new()
    }
}

impl Cores for Serial {
    fn n_cores(&self) -> usize {
        1
    }

    fn run(&self, region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        self.team.begin(1);
        self.team.enter(0, region);
    }

    fn run_beside(&self, main: &mut dyn FnMut(), region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        main();
        self.run(region);
    }
}
