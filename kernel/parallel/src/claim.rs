//! What the cores of a step want of a buffer, compared before anyone gets it.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::region::Region;
use crate::sync::{AtomicBool, UnsafeCell};

/// One core's part of a buffer, but for the core.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub n_items: usize,
    pub unit: usize,
    pub turn: usize,
}

/// The use of a buffer in a step, the same for all cores of the region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub region: Region,
    pub step: u32,
    /// None: all of it is read.
    pub part: Option<Part>,
}

/// Why a claim is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conflict {
    /// The step has another claim on the buffer.
    OtherUse,
    /// The core has had its part in this step.
    TakenTwice,
    /// A region that still runs has claimed the buffer.
    OtherRegion,
}

impl core::fmt::Display for Conflict {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Conflict::OtherUse => "a shared buffer is used in two ways within one step",
            Conflict::TakenTwice => {
                "a core takes its part of a shared buffer twice within one step"
            }
            Conflict::OtherRegion => "a shared buffer is used by two regions at once",
        })
    }
}

struct Held {
    /// The last step's that used the buffer.
    claim: Option<Claim>,
    /// Cores that have taken their part by it, a bit each.
    takers: u32,
}

/// A buffer's record of the claim on it, behind a lock.
pub struct Record {
    is_locked: AtomicBool,
    held: UnsafeCell<Held>,
}

impl Record {
    pub fn new() -> Self {
        Record {
            is_locked: AtomicBool::new(false),
            held: UnsafeCell::new(Held {
                claim: None,
                takers: 0,
            }),
        }
    }

    /// Notes that core `id` makes `claim`, at a step whose predecessor all cores of the region have left.
    ///
    /// # Errors
    /// [`Conflict`].
    pub fn claim(&self, id: usize, claim: Claim, relax: fn()) -> Result<(), Conflict> {
        let lock = &self.is_locked;
        while lock
            .compare_exchange(false, true, Acquire, Relaxed)
            .is_err()
        {
            relax();
        }
        // SAFETY: the lock is held until after the closure, which does not panic.
        let noted = self
            .held
            .with_mut(|held| unsafe { &mut *held }.note(id, claim));
        lock.store(false, Release);
        noted
    }
}

impl Held {
    fn note(&mut self, id: usize, claim: Claim) -> Result<(), Conflict> {
        match self.claim {
            Some(held) if held.region == claim.region => {
                if held.step != claim.step {
                    self.replace(claim);
                } else if held != claim {
                    return Err(Conflict::OtherUse);
                }
            }
            Some(held) if held.region.is_running() => return Err(Conflict::OtherRegion),
            _ => self.replace(claim),
        }
        if claim.part.is_some() {
            if self.takers & 1 << id != 0 {
                return Err(Conflict::TakenTwice);
            }
            self.takers |= 1 << id;
        }
        Ok(())
    }

    fn replace(&mut self, claim: Claim) {
        self.claim = Some(claim);
        self.takers = 0;
    }
}
