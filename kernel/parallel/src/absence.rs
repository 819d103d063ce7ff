//! A core that is missed at a barrier or by the lender of its region, and who is told.

use core::fmt;
use core::panic::Location;

/// Turns of a barrier's waiting loop from one call of a [`Watch`] to the next.
pub(crate) const TURNS: u32 = 1 << 16;

/// What a core that waits at a barrier, or for the others to leave its region, calls once in 2^16 turns: with what it
/// was given back the time before, which is nothing at first. It may panic.
pub type Watch = fn(since: Option<u64>, absence: &Absence) -> u64;

/// A core of a team waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The core that waits.
    pub waiting: usize,
    /// The core that has not come.
    pub absent: usize,
    /// The step of the region that the absent core is still in, from 0; nothing in a region of one core, which keeps no
    /// count of them.
    pub step: Option<u32>,
    /// The barrier that ends this step; nothing at the region's end.
    pub barrier: Option<&'static Location<'static>>,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [absent, waiting] = [self.absent, self.waiting];
        write!(f, "core {absent} hangs in ")?;
        if let Some(step) = self.step {
            write!(f, "step {step} of ")?;
        }
        write!(f, "a region: core {waiting} waits for it at ")?;
        match self.barrier {
            Some(barrier) => write!(f, "the barrier in {}:{}", barrier.file(), barrier.line()),
            None => f.write_str("the region's end"),
        }
    }
}
