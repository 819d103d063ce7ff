//! One core inside a region: its share of the work, its log, its barrier.

use core::cell::Cell;
use core::ops::Range;
use core::panic::Location;
use core::sync::atomic::Ordering::*;

use super::{Own, Private, Shared, Team};

/// Accesses that one step can log.
const LOG_LEN: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Part,
}

/// One core inside a region.
pub struct Core<'r> {
    id: usize,
    n: usize,
    team: &'r Team,
    step: u32,
    n_barriers: u32,
    fingerprint: Cell<u32>,
    log: [Cell<(usize, Access)>; LOG_LEN],
    log_len: Cell<usize>,
}

impl<'r> Core<'r> {
    /// Core `id` of `n`, at the start of a region.
    pub(super) fn new(team: &'r Team, id: usize, n: usize) -> Self {
        Core {
            id,
            n,
            team,
            step: 0,
            n_barriers: 0,
            fingerprint: Cell::new(0x811C_9DC5),
            log: [const { Cell::new((0, Access::Read)) }; LOG_LEN],
            log_len: Cell::new(0),
        }
    }

    /// This core's number. For counting: never branch on it.
    pub fn id(&self) -> usize {
        self.id
    }

    /// How many cores run the region.
    pub fn n_cores(&self) -> usize {
        self.n
    }

    /// Barriers passed in this region so far.
    pub fn n_barriers(&self) -> u32 {
        self.n_barriers
    }

    /// This core's contiguous share of `n_items`, as even as can be. `turn` rotates who gets which
    /// share, so that few items spread over the cores as steps go by.
    pub fn share(&self, n_items: usize, turn: usize) -> Range<usize> {
        let place = (self.id + turn) % self.n;
        n_items * place / self.n..n_items * (place + 1) / self.n
    }

    /// The whole of `shared`, to read until the next barrier.
    ///
    /// # Panics
    /// When this step has cut `shared` into parts.
    pub fn read<'c, T>(&'c self, shared: &'c Shared<'_, T>) -> &'c [T] {
        self.note(shared.start.addr(), Access::Read, shared.len as u32);
        // SAFETY: until the barrier that ends this borrow, every core only reads `shared`: the log
        // refuses a part on this core, and the other cores run the same sequence.
        unsafe { core::slice::from_raw_parts(shared.start, shared.len) }
    }

    /// This core's [`share`](Core::share) of the first `n_items` items of `shared`, each `unit`
    /// values long: the item numbers and their values, to write until the next barrier.
    ///
    /// # Panics
    /// When this step has used `shared` already, or it is too short.
    #[expect(
        clippy::mut_from_ref,
        reason = "the log lets each core take its part once a step"
    )]
    pub fn part<'c, T>(
        &'c self,
        shared: &'c Shared<'_, T>,
        n_items: usize,
        unit: usize,
        turn: usize,
    ) -> (Range<usize>, &'c mut [T]) {
        assert!(
            n_items * unit <= shared.len,
            "{n_items} items of {unit} in {}",
            shared.len
        );
        self.note(
            shared.start.addr(),
            Access::Part,
            (n_items ^ (unit << 8) ^ (turn << 16)) as u32,
        );
        let items = self.share(n_items, turn);
        // SAFETY: in bounds by the assertion. Shares of different cores are disjoint, the log
        // refuses a second use on this core within the step, the other cores run the same
        // sequence, and the borrow ends before the barrier.
        let values = unsafe {
            core::slice::from_raw_parts_mut(
                shared.start.add(items.start * unit),
                items.len() * unit,
            )
        };
        (items, values)
    }

    /// This core's own piece of `private`, kept for as long as the guard lives.
    ///
    /// # Panics
    /// When it is taken already.
    pub fn private<'p, T>(&self, private: &'p Private<'_, T>) -> Own<'p, T> {
        private.take(self.id)
    }

    /// Ends the step: waits for every core of the region.
    ///
    /// # Panics
    /// When the cores did not all do the same since the last barrier.
    #[track_caller]
    pub fn barrier(&mut self) {
        self.fold(Location::caller().line());
        self.n_barriers += 1;
        self.meet();
    }

    pub(super) fn meet(&mut self) {
        self.step = self.step.wrapping_add(1);
        self.log_len.set(0);
        if self.n == 1 {
            return;
        }
        let print = self.fingerprint.get();
        let mine = (u64::from(self.step) << 32) | u64::from(print);
        self.team.flags[self.id].step.store(mine, Release);
        for other in 0..self.n {
            loop {
                let theirs = self.team.flags[other].step.load(Acquire);
                let their_step = (theirs >> 32) as u32;
                // A core that is one step ahead has compared with this one before it went on.
                if their_step == self.step.wrapping_add(1) {
                    break;
                }
                if their_step == self.step {
                    let same = theirs as u32 == print;
                    assert!(
                        same,
                        "cores {} and {other} diverged at step {their_step}",
                        self.id
                    );
                    break;
                }
                self.team.wait();
            }
        }
    }

    fn note(&self, address: usize, access: Access, shape: u32) {
        let len = self.log_len.get();
        let mut logged = false;
        for entry in &self.log[..len] {
            let (other, before) = entry.get();
            if other == address {
                let both_read = access == Access::Read && before == Access::Read;
                assert!(
                    both_read,
                    "a shared buffer is used in two ways within one step"
                );
                logged = true;
            }
        }
        if !logged {
            assert!(
                len < LOG_LEN,
                "more than {LOG_LEN} shared buffers in one step"
            );
            self.log[len].set((address, access));
            self.log_len.set(len + 1);
        }
        self.fold(address as u32 ^ shape.rotate_left(7) ^ access as u32);
    }

    fn fold(&self, value: u32) {
        // FNV-1a over words.
        self.fingerprint
            .set((self.fingerprint.get() ^ value).wrapping_mul(0x0100_0193));
    }
}
