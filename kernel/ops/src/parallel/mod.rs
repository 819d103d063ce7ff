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
}
