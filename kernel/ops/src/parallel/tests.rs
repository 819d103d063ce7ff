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
