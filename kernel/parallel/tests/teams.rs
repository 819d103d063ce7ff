//! How a region is lent to other cores, and how panics end it.

mod threads;

use parallel::{Cores, Shared, Team};
use std::panic::{AssertUnwindSafe, catch_unwind};
use threads::{Threads, panic_of};

const OTHER_PANICKED: &str = "another core of this region panicked";

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

#[test]
fn a_panic_ends_the_region_on_all_cores_and_the_pool() {
    let pool = Threads::new(3);
    let run = |culprit| {
        panic_of(|| {
            pool.run(&|core| {
                assert!(core.id() != culprit, "on purpose");
                core.barrier();
            });
        })
    };
    assert_eq!(run(2).as_deref(), Some(OTHER_PANICKED));
    assert_eq!(run(3).as_deref(), Some(OTHER_PANICKED));
}

#[test]
fn a_caller_that_cannot_call_does_not_wait() {
    let team = Team::new(std::thread::yield_now);
    let run = || team.run(3, &|core| core.barrier(), &mut || panic!("no threads"));
    assert_eq!(panic_of(run).as_deref(), Some("no threads"));
    assert!(!team.serve(1));
}

#[test]
fn nobody_serves_uncalled_or_twice() {
    let team = Team::new(std::thread::yield_now);
    assert!(!team.serve(0) && !team.serve(1) && !team.serve(usize::MAX));
    team.run(1, &|_| assert!(!team.serve(0)), &mut || {
        assert!(!team.is_called(1))
    });
}
