//! The core pool of the host: one thread per core of a region.
//!
//! Threads are started anew for each region. A region is a whole token, against which the tens of
//! microseconds of a start are nothing, and scoped threads may borrow what the region borrows.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, Scope};

use parallel::{Core, Cores, MAX_CORES, Team};

/// Threads of the operating system as cores.
pub struct Threads {
    n_cores: usize,
    team: Team,
}

impl Threads {
    /// `n_cores` threads, the caller's included; at least 1 and at most [`MAX_CORES`].
    pub fn new(n_cores: usize) -> Threads {
        Threads {
            n_cores: n_cores.clamp(1, MAX_CORES),
            team: Team::new(thread::yield_now),
        }
    }

    /// One thread per processor of this machine.
    pub fn per_processor() -> Threads {
        Threads::new(thread::available_parallelism().map_or(1, NonZero::get))
    }

    /// Starts the threads that serve; a panic of theirs reaches the caller through the team.
    fn start<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        for core in 1..self.n_cores {
            scope.spawn(move || catch_unwind(AssertUnwindSafe(|| self.team.serve(core))));
        }
    }
}

impl Cores for Threads {
    fn n_cores(&self) -> usize {
        self.n_cores
    }

    fn run(&self, region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        thread::scope(|scope| {
            self.team
                .run(self.n_cores, region, &mut || self.start(scope));
        });
    }

    fn run_beside(&self, main: &mut dyn FnMut(), region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        thread::scope(|scope| {
            let start = &mut || self.start(scope);
            self.team.run_beside(self.n_cores, main, region, start);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Threads;
    use parallel::{Cores, Shared};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    #[test]
    fn every_core_runs_every_region_once() {
        for n in 1..=4 {
            let threads = Threads::new(n);
            let visits = AtomicU32::new(0);
            let mut values = vec![0u32; 10];
            let shared = Shared::new(&mut values);
            for _ in 0..20 {
                threads.run(&|core| {
                    visits.fetch_add(1, Ordering::Relaxed);
                    let (_, part) = core.part(&shared, 10, 1, 0);
                    part.iter_mut().for_each(|v| *v += 1);
                    core.barrier();
                    assert!(
                        core.read(&shared)
                            .iter()
                            .all(|v| *v == core.read(&shared)[0])
                    );
                });
            }
            assert_eq!(visits.into_inner(), 20 * n as u32);
            assert_eq!(values, [20; 10]);
        }
    }

    #[test]
    fn the_caller_and_the_others_work_at_once() {
        for n in 1..=4 {
            let threads = Threads::new(n);
            let (visits, mut turns) = (AtomicU32::new(0), 0);
            for _ in 0..20 {
                threads.run_beside(&mut || turns += 1, &|core| {
                    assert_eq!(core.n_cores(), threads.n_beside());
                    visits.fetch_add(1, Ordering::Relaxed);
                    core.barrier();
                });
            }
            assert_eq!(turns, 20);
            assert_eq!(visits.into_inner(), 20 * threads.n_beside() as u32);
        }
    }

    #[test]
    fn a_panic_of_the_caller_waits_for_the_others() {
        let threads = Threads::new(3);
        let ended = AtomicU32::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            threads.run_beside(&mut || panic!("on purpose"), &|_| {
                std::thread::sleep(Duration::from_millis(20));
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }));
        let message = result.unwrap_err();
        assert_eq!(message.downcast_ref(), Some(&"on purpose"));
        assert_eq!(ended.load(Ordering::Relaxed), 2);
        // And the next region runs.
        threads.run(&|core| core.barrier());
    }

    #[test]
    #[should_panic(expected = "on purpose")]
    fn a_panic_reaches_the_caller() {
        Threads::new(2).run(&|_| panic!("on purpose"));
    }
}
