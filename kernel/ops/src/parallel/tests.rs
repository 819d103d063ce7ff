//! What the room promises, and what it refuses.

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

    fn run_beside(&self, main: &mut dyn FnMut(), region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        if self.n == 1 {
            main();
            return self.run(region);
        }
        self.team.begin_beside(self.n_beside());
        std::thread::scope(|scope| {
            for id in 0..self.n_beside() {
                scope.spawn(move || {
                    let _ = catch_unwind(AssertUnwindSafe(|| self.team.enter(id, region)));
                });
            }
            main();
        });
        self.team.join();
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

#[test]
fn the_caller_works_beside_the_others() {
    for n in 1..=5 {
        let pool = Threads::new(n);
        let mut values = vec![0u64; 12];
        let mut read = Vec::new();
        for round in 0..50 {
            let shared = Shared::new(&mut values);
            let mut next = 0;
            pool.run_beside(
                &mut || {
                    std::thread::yield_now();
                    next = round;
                },
                &|core| {
                    assert_eq!(core.n_cores(), pool.n_beside());
                    let (_, part) = core.part(&shared, 12, 1, 0);
                    part.iter_mut().for_each(|v| *v += 1);
                    core.barrier();
                    assert!(core.read(&shared).iter().all(|&v| v == round + 1));
                },
            );
            read.push(next);
        }
        assert_eq!(values, [50; 12]);
        assert_eq!(read, (0..50).collect::<Vec<u64>>());
        // The pool is as good as before.
        pool.run(&|core| assert_eq!(core.n_cores(), n));
    }
}

#[test]
fn a_panic_beside_reaches_the_caller() {
    for n in 2..=4 {
        for culprit in 0..n - 1 {
            let pool = Threads::new(n);
            let mut has_run = false;
            let run = AssertUnwindSafe(|| {
                pool.run_beside(&mut || has_run = true, &|core| {
                    assert!(core.id() != culprit, "on purpose");
                });
            });
            assert!(catch_unwind(run).is_err());
            assert!(has_run);
        }
    }
}

#[test]
fn no_region_begins_while_another_runs_beside() {
    let pool = Threads::new(3);
    let nested = AssertUnwindSafe(|| {
        pool.run_beside(&mut || pool.run(&|_| {}), &|core| core.barrier());
    });
    assert!(catch_unwind(nested).is_err());
}
