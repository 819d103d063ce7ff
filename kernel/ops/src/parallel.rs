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

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut, Range};
use core::panic::Location;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

/// More cores than any machine this runs on will use.
pub const MAX_CORES: usize = 16;

/// Accesses that one step can log.
const LOG_LEN: usize = 24;

/// What a region runs on.
pub trait Cores: Sync {
    /// How many cores run a region.
    fn n_cores(&self) -> usize;
    /// Runs `region` on every core and returns when all have finished.
    fn run(&self, region: &(dyn Fn(&mut Core<'_>) + Sync));
}

/// One cache line per flag: step number in the upper half, fingerprint in the lower.
#[repr(align(64))]
struct Flag {
    step: AtomicU64,
    inside: AtomicBool,
}

/// The meeting point of the cores of one pool.
///
/// The core that starts a region calls [`Team::begin`], publishes the region to the others, and
/// every core, itself included, then calls [`Team::enter`].
pub struct Team {
    flags: [Flag; MAX_CORES],
    n_cores: AtomicU32,
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
                }
            }; MAX_CORES],
            n_cores: AtomicU32::new(0),
            broken: AtomicBool::new(false),
            relax,
        }
    }

    /// Makes ready for a region on cores `0..n_cores`, once the last region's cores have left.
    ///
    /// # Panics
    /// When `n_cores` is 0 or above [`MAX_CORES`], or a region panicked before.
    pub fn begin(&self, n_cores: usize) {
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
        }
        self.n_cores.store(n_cores as u32, Release);
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
        let mut core = Core {
            id,
            n: n_cores,
            team: self,
            step: 0,
            n_barriers: 0,
            fingerprint: Cell::new(0x811C_9DC5),
            log: [const { Cell::new((0, Access::Read)) }; LOG_LEN],
            log_len: Cell::new(0),
        };
        region(&mut core);
        core.meet();
    }

    /// One turn of a waiting loop.
    fn wait(&self) {
        assert!(
            !self.broken.load(Relaxed),
            "another core of this region panicked"
        );
        (self.relax)();
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
        self.team.flags[self.id].inside.store(false, Release);
    }
}

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

impl Core<'_> {
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

    fn meet(&mut self) {
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

/// A buffer that all cores of a region use, by turns read whole and written in parts.
pub struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    owned: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Shared` is a `&mut [T]`; what cores may do with it at once is governed by `Core`.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above; cores both read and write the values, hence both bounds.
unsafe impl<T: Send + Sync> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// Shares `values`.
    pub fn new(values: &'a mut [T]) -> Self {
        Shared {
            start: values.as_mut_ptr(),
            len: values.len(),
            owned: PhantomData,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The values, outside any region.
    pub fn get_mut(&mut self) -> &mut [T] {
        // SAFETY: made from a `&'a mut [T]` that this owns, and `self` is borrowed alone.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

/// A buffer in equal pieces, one a core.
pub struct Private<'a, T> {
    start: *mut T,
    len_each: usize,
    n_cores: usize,
    taken: [AtomicBool; MAX_CORES],
    owned: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Private` is a `&mut [T]`, whose pieces go to one core each.
unsafe impl<T: Send> Send for Private<'_, T> {}
// SAFETY: `taken` gives each piece to one holder at a time.
unsafe impl<T: Send> Sync for Private<'_, T> {}

impl<'a, T> Private<'a, T> {
    /// Cuts `values` into `n_cores` equal pieces.
    ///
    /// # Panics
    /// When `n_cores` is 0 or above [`MAX_CORES`].
    pub fn new(values: &'a mut [T], n_cores: usize) -> Self {
        assert!(
            (1..=MAX_CORES).contains(&n_cores),
            "pieces for {n_cores} cores"
        );
        Private {
            start: values.as_mut_ptr(),
            len_each: values.len() / n_cores,
            n_cores,
            taken: [const { AtomicBool::new(false) }; MAX_CORES],
            owned: PhantomData,
        }
    }

    /// How many cores have a piece.
    pub fn n_cores(&self) -> usize {
        self.n_cores
    }

    /// Core `id`'s piece, outside any region.
    pub fn get_mut(&mut self, id: usize) -> &mut [T] {
        assert!(id < self.n_cores, "piece {id} of {}", self.n_cores);
        // SAFETY: in bounds, made from a `&'a mut [T]` that this owns, and `self` is borrowed
        // alone, so that no guard lives.
        unsafe {
            core::slice::from_raw_parts_mut(self.start.add(id * self.len_each), self.len_each)
        }
    }

    fn take(&self, id: usize) -> Own<'_, T> {
        assert!(id < self.n_cores, "piece {id} of {}", self.n_cores);
        let was_taken = self.taken[id].swap(true, Acquire);
        assert!(!was_taken, "core {id} takes a private buffer twice");
        // SAFETY: in bounds; `taken` says that nobody else holds this piece, and the guard gives
        // it back only when dropped.
        let piece = unsafe {
            core::slice::from_raw_parts_mut(self.start.add(id * self.len_each), self.len_each)
        };
        Own {
            piece,
            taken: &self.taken[id],
        }
    }
}

/// A core's piece of a [`Private`].
pub struct Own<'p, T> {
    piece: &'p mut [T],
    taken: &'p AtomicBool,
}

impl<T> Deref for Own<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.piece
    }
}

impl<T> DerefMut for Own<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.piece
    }
}

impl<T> Drop for Own<'_, T> {
    fn drop(&mut self) {
        self.taken.store(false, Release);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    struct Threads {
        n: usize,
        team: Team,
    }

    impl Threads {
        fn new(n: usize) -> Self {
            Threads {
                n,
                team: Team::new(std::thread::yield_now),
            }
        }
    }

    impl Cores for Threads {
        fn n_cores(&self) -> usize {
            self.n
        }

        fn run(&self, region: &(dyn Fn(&mut Core<'_>) + Sync)) {
            self.team.begin(self.n);
            std::thread::scope(|scope| {
                for id in 1..self.n {
                    scope.spawn(move || {
                        let _ = catch_unwind(AssertUnwindSafe(|| self.team.enter(id, region)));
                    });
                }
                self.team.enter(0, region);
            });
        }
    }

    #[test]
    fn parts_written_before_a_barrier_are_read_after_it() {
        for n in 1..=5 {
            let pool = Threads::new(n);
            let (mut a, mut b) = (vec![0u64; 30], vec![0u64; 10]);
            let (a, b) = (Shared::new(&mut a), Shared::new(&mut b));
            pool.run(&|core| {
                for round in 0..50 {
                    let (items, part) = core.part(&a, 10, 3, round);
                    for (item, values) in items.zip(part.chunks_exact_mut(3)) {
                        values.fill((item + round) as u64);
                    }
                    core.barrier();
                    let total: u64 = core.read(&a).iter().sum();
                    let (_, part) = core.part(&b, 10, 1, 0);
                    part.fill(total);
                    core.barrier();
                    assert!(
                        core.read(&b)
                            .iter()
                            .all(|&t| t == 3 * (45 + 10 * round as u64))
                    );
                    core.barrier();
                }
            });
        }
    }

    #[test]
    fn shares_cover_every_item_once() {
        for n in 1..=4 {
            let pool = Threads::new(n);
            let mut hits = vec![0u8; 7];
            let shared = Shared::new(&mut hits);
            pool.run(&|core| {
                for turn in 0..6 {
                    let (_, part) = core.part(&shared, 7, 1, turn);
                    part.iter_mut().for_each(|h| *h += 1);
                    core.barrier();
                }
            });
            assert_eq!(hits, [6; 7]);
        }
    }

    #[test]
    fn diverging_cores_panic_at_the_barrier() {
        let pool = Threads::new(2);
        let mut a = vec![0u8; 4];
        let a = Shared::new(&mut a);
        let run = || {
            pool.run(&|core| {
                if core.id() == 0 {
                    core.read(&a);
                }
                core.barrier();
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }

    #[test]
    fn one_step_uses_a_buffer_in_one_way() {
        let mut a = vec![0u8; 4];
        let a = Shared::new(&mut a);
        let both = || {
            Serial::new().run(&|core| {
                core.read(&a);
                core.part(&a, 4, 1, 0);
            });
        };
        assert!(catch_unwind(both).is_err());
        let twice = || {
            Serial::new().run(&|core| {
                core.part(&a, 4, 1, 0);
                core.part(&a, 4, 1, 0);
            });
        };
        assert!(catch_unwind(twice).is_err());
    }

    #[test]
    fn private_pieces_are_taken_once_and_given_back() {
        let mut values = vec![0u32; 6];
        let mut private = Private::new(&mut values, 3);
        Threads::new(3).run(&|core| {
            core.private(&private).fill(core.id() as u32);
            let held = core.private(&private);
            assert_eq!(held.len(), 2);
        });
        assert_eq!(private.get_mut(2), [2, 2]);
        let twice = catch_unwind(AssertUnwindSafe(|| {
            Serial::new().run(&|core| {
                let _held = core.private(&private);
                core.private(&private);
            });
        }));
        assert!(twice.is_err());
    }
}
