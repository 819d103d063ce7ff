//! Several cores, one program: regions, their barrier, and the buffers whose rows they divide.
//!
//! A *region* is one closure that every core runs from start to end. Between two barriers (a *step*) a [`Shared`]
//! buffer is either read by all cores or cut into disjoint parts, one part a core.
//!
//! * [`Cores`]: what a region runs on; [`Serial`] is the calling core alone
//! * [`Team`]: what a pool of cores is made of: lends a region to other cores and has it back before it returns
//! * [`Core`]: one core inside a region: its share of the work, its claims, its barrier
//! * [`Shared`], [`Private`]: a buffer for all cores, and one in pieces, a piece a core; [`Own`] holds a piece
//! * [`Absence`]: a core that others wait for at a barrier, told to a team's [`Watch`]
//! * `barrier`, `claim`, `region`: the meeting point, a buffer's record of its use, the list of running regions
//! * `sync`: atomics, or loom's in its models (`tests`)
//!
//! What makes the safe functions sound, whatever the closure does:
//!
//! * slices given out by [`Core::read`] and [`Core::part`] borrow the [`Core`], and [`Core::barrier`] takes it
//!   mutably, so that no slice outlives its step;
//! * a claim is compared with the buffer's record before a slice exists. The first core of a step writes the record;
//!   the others must say the same (region, step, use, items, unit, turn), and none takes its part twice. What differs
//!   between the cores of a part is only [`Core::id`], which is each core's own. A record binds until its step is over,
//!   for the cores of another region until its region is;
//! * a barrier lets nobody pass before all have come, and a core whose barrier failed gets nothing more.
//!
//! The barrier compares a fingerprint of the claims as well: cores that use different buffers, or stand at different
//! barriers, panic there. A region that panics on one core ends by panic on all, and its pool runs no other.
//!
//! ```
//! use parallel::{Cores, Serial, Shared};
//!
//! let (mut squares, mut sums) = ([0; 8], [0; 2]);
//! let (shared, out) = (Shared::new(&mut squares), Shared::new(&mut sums));
//! Serial::new().run(&|core| {
//!     let (items, part) = core.part(&shared, 8, 1, 0);
//!     for (item, square) in items.zip(part) {
//!         *square = item * item;
//!     }
//!     core.barrier();
//!     let squares = core.read(&shared);
//!     let (items, part) = core.part(&out, 2, 1, 0);
//!     for (item, sum) in items.zip(part) {
//!         *sum = squares[4 * item..][..4].iter().sum();
//!     }
//! });
//! assert_eq!(sums, [14, 126]);
//! ```

#![no_std]

mod absence;
mod barrier;
mod claim;
mod member;
mod private;
mod region;
mod shared;
mod sync;
mod team;

#[cfg(all(loom, test))]
extern crate std;
#[cfg(all(loom, test))]
mod tests;

pub use absence::{Absence, Watch};
pub use member::Core;
pub use private::{Own, Private};
pub use shared::Shared;
pub use team::Team;

/// More cores than any machine this runs on will use.
pub const MAX_CORES: usize = if cfg!(loom) { 3 } else { 16 };

/// What a region runs on.
pub trait Cores: Sync {
    /// How many cores run a region.
    fn n_cores(&self) -> usize;
    /// Runs `region` on every core and returns when all have finished.
    ///
    /// # Panics
    /// When the region panics on one of them, did so before, or is started inside another of this pool.
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
    pub fn new() -> Self {
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
        self.team.run(1, region, &mut || {});
    }

    fn run_beside(&self, main: &mut dyn FnMut(), region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        main();
        self.run(region);
    }
}
