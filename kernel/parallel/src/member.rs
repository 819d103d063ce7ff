//! One core inside a region: its share of the work, its claims, its barrier.

use core::cell::Cell;
use core::ops::Range;
use core::panic::Location;
use core::slice;

use crate::barrier::Barrier;
use crate::claim::{Claim, Part, Record};
use crate::private::{Own, Private};
use crate::region::Region;
use crate::shared::Shared;

/// One core inside a region.
pub struct Core<'r> {
    id: usize,
    n: usize,
    barrier: &'r Barrier,
    region: Region,
    step: u32,
    n_barriers: u32,
    fingerprint: Cell<u32>,
    /// In a barrier, or panicked there: others may be in another step.
    is_lost: bool,
}

impl<'r> Core<'r> {
    /// Core `id` of `n`, at the start of a region. There is one with this number.
    pub(crate) fn new(barrier: &'r Barrier, region: Region, id: usize, n: usize) -> Self {
        Core {
            id,
            n,
            barrier,
            region,
            step: 0,
            n_barriers: 0,
            fingerprint: Cell::new(0x811C_9DC5),
            is_lost: false,
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
        let place = (self.id + turn % self.n) % self.n;
        // ⌊n_items · place / n⌋, which could overflow
        let (each, rest) = (n_items / self.n, n_items % self.n);
        let cut = |place| each * place + rest * place / self.n;
        cut(place)..cut(place + 1)
    }

    /// The whole of `shared`, to read until the next barrier.
    ///
    /// # Panics
    /// When this step has another use of `shared`, on whichever core, or another region uses it.
    pub fn read<'c, T>(&'c self, shared: &'c Shared<'_, T>) -> &'c [T] {
        self.claim(&shared.record, None);
        // SAFETY: until the barrier that ends this borrow, every core only reads `shared`: its record
        // refuses all else.
        unsafe { slice::from_raw_parts(shared.start, shared.len()) }
    }

    /// This core's [`share`](Core::share) of the first `n_items` items of `shared`, each `unit`
    /// values long: the item numbers and their values, to write until the next barrier.
    ///
    /// # Panics
    /// When this step has another use of `shared`, on whichever core, or has cut it with other numbers; when this core
    /// has had its part; when another region uses `shared`, or it is too short.
    #[expect(
        clippy::mut_from_ref,
        reason = "the record lets each core take its part once a step"
    )]
    pub fn part<'c, T>(
        &'c self,
        shared: &'c Shared<'_, T>,
        n_items: usize,
        unit: usize,
        turn: usize,
    ) -> (Range<usize>, &'c mut [T]) {
        let fits = n_items
            .checked_mul(unit)
            .is_some_and(|len| len <= shared.len());
        assert!(fits, "{n_items} items of {unit} in {}", shared.len());
        self.claim(
            &shared.record,
            Some(Part {
                n_items,
                unit,
                turn,
            }),
        );
        let items = self.share(n_items, turn);
        // SAFETY: in bounds by the assertion. Until the barrier that ends this borrow, all cores of the region cut
        // `shared` by the same numbers, each once, or its record refuses; shares of different cores are disjoint.
        let values = unsafe {
            slice::from_raw_parts_mut(shared.start.add(items.start * unit), items.len() * unit)
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
        let at = Location::caller();
        self.fold(at.line());
        self.n_barriers += 1;
        self.meet(Some(at));
    }

    /// Ends the step, at a barrier or the region's end.
    pub(crate) fn meet(&mut self, at: Option<&'static Location<'static>>) {
        self.assert_not_lost();
        self.is_lost = true;
        self.step = self.step.wrapping_add(1);
        if self.n > 1 {
            let fingerprint = self.fingerprint.get();
            self.barrier
                .meet([self.id, self.n], self.step, fingerprint, at);
        }
        self.is_lost = false;
    }

    fn claim(&self, record: &Record, part: Option<Part>) {
        self.assert_not_lost();
        let claim = Claim {
            region: self.region,
            step: self.step,
            part,
        };
        if let Err(conflict) = record.claim(self.id, claim, self.barrier.relax) {
            panic!("{conflict}");
        }
        self.fold(core::ptr::from_ref(record).addr() as u32);
    }

    fn assert_not_lost(&self) {
        assert!(!self.is_lost, "a core goes on after its barrier failed");
    }

    fn fold(&self, value: u32) {
        // FNV-1a over words.
        self.fingerprint
            .set((self.fingerprint.get() ^ value).wrapping_mul(0x0100_0193));
    }
}
