//! loom's models: every order in which 2 and 3 cores may run and see each other's writes, up to a number of preemptions.
//!
//! Bounded: up to three preemptions for 2 cores, and one or two for 3; a model of 3 cores without a bound takes hours.
//! After [`MAX_WAITS`] turns of waiting loops an execution is run to its end, and no other order of its rest. The values of a
//! buffer are loom's cells: two slices that overlap fail a model even when nothing is written.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p parallel --lib --target-dir target/loom
//! ```

extern crate std;

use core::cell::Cell;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::string::String;
use std::vec::Vec;

use crate::{Core, Private, Shared, Team};

/// Turns of waiting loops up to which all orders of an execution are tried.
const MAX_WAITS: usize = 6;

/// A value whose accesses loom checks.
#[derive(Default)]
struct Watched(UnsafeCell<()>);

// SAFETY: nothing in it but what loom watches.
unsafe impl Sync for Watched {}

fn write(part: &mut [Watched]) {
    for value in part {
        value.0.with_mut(|_| ());
    }
}

fn read(values: &[Watched]) {
    for value in values {
        value.0.with(|_| ());
    }
}

fn buffer(len: usize) -> Vec<Watched> {
    (0..len).map(|_| Watched::default()).collect()
}

fn check(n_preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(n_preemptions);
    builder.max_branches = 5_000;
    builder.check(move || {
        N_WAITS.set(0);
        model();
    });
}

/// Whether `f` panicked as this crate does; loom's own panics go on.
fn is_refused(f: impl FnOnce(), allowed: &[&str]) -> bool {
    let Err(panic) = catch_unwind(AssertUnwindSafe(f)) else {
        return false;
    };
    let message = match panic.downcast_ref::<String>() {
        Some(message) => message.as_str(),
        None => panic.downcast_ref::<&str>().copied().unwrap_or_default(),
    };
    if !allowed.iter().any(|allowed| message.contains(allowed)) {
        resume_unwind(panic);
    }
    true
}

type Region<'r> = &'r (dyn Fn(&mut Core<'_>) + Sync);

const CLAIMS: [&str; 5] = [
    "two ways within one step",
    "twice within one step",
    "by two regions at once",
    "diverged at step",
    "another core of this region panicked",
];

std::thread_local! {
    static N_WAITS: Cell<usize> = const { Cell::new(0) };
}

/// A turn of a waiting loop. An execution that has many goes on in the one way that loom takes first: two cores could wait
/// for a third in turn for ever.
fn relax() {
    N_WAITS.set(N_WAITS.get() + 1);
    if N_WAITS.get() == MAX_WAITS {
        loom::skip_branch();
    }
    thread::yield_now();
}

fn team() -> Arc<Team> {
    Arc::new(Team::new(relax))
}

/// Runs `region` on `n` cores, `main` beside it if given; says how many of the cores were refused something.
fn run(
    team: &Arc<Team>,
    n: usize,
    main: Option<&mut dyn FnMut()>,
    region: &(dyn Fn(&mut Core<'_>) + Sync),
) -> usize {
    let mut workers = Vec::new();
    let mut call = || {
        for core in 1..n {
            let team = team.clone();
            workers.push(thread::spawn(move || {
                is_refused(|| assert!(team.serve(core)), &CLAIMS)
            }));
        }
    };
    let lender = || match main {
        None => team.run(n, region, &mut call),
        Some(main) => team.run_beside(n, main, region, &mut call),
    };
    let lender = is_refused(lender, &CLAIMS);
    let workers = workers.into_iter().map(|worker| worker.join().unwrap());
    usize::from(lender) + workers.filter(|&refused| refused).count()
}

fn parts_are_disjoint_and_seen_after_a_barrier(n: usize) {
    let mut values = buffer(n);
    let mut shared = Shared::new(&mut values);
    let refused = run(&team(), n, None, &|core| {
        write(core.part(&shared, n, 1, 0).1);
        core.barrier();
        read(core.read(&shared));
    });
    assert_eq!(refused, 0);
    write(shared.get_mut());
}

#[test]
fn parts_of_2() {
    check(3, || parts_are_disjoint_and_seen_after_a_barrier(2));
}

#[test]
fn parts_of_3() {
    check(1, || parts_are_disjoint_and_seen_after_a_barrier(3));
}

fn a_part_with_the_cores_number_in_it_is_refused(n: usize) {
    let mut values = buffer(n);
    let mut shared = Shared::new(&mut values);
    let refused = run(&team(), n, None, &|core| {
        write(core.part(&shared, n, 1, core.id()).1);
        core.barrier();
    });
    // The lender hears of it in any case.
    assert!(refused >= n);
    write(shared.get_mut());
}

#[test]
fn wrong_turn_of_2() {
    check(3, || a_part_with_the_cores_number_in_it_is_refused(2));
}

#[test]
fn wrong_turn_of_3() {
    check(2, || a_part_with_the_cores_number_in_it_is_refused(3));
}

fn a_late_core_does_not_meet_the_next_steps_claims(n: usize) {
    let mut values = buffer(n);
    let shared = Shared::new(&mut values);
    let refused = run(&team(), n, None, &|core| {
        read(core.read(&shared));
        core.barrier();
        write(core.part(&shared, n, 1, 1).1);
        core.barrier();
        write(core.part(&shared, n, 1, 2).1);
    });
    assert_eq!(refused, 0);
}

#[test]
fn steps_of_2() {
    check(3, || a_late_core_does_not_meet_the_next_steps_claims(2));
}

#[test]
fn steps_of_3() {
    check(1, || a_late_core_does_not_meet_the_next_steps_claims(3));
}

fn a_reader_and_a_writer_do_not_both_get_it(n: usize) {
    let mut values = buffer(n);
    let shared = Shared::new(&mut values);
    let refused = run(&team(), n, None, &|core| {
        if core.id() == 0 {
            read(core.read(&shared));
        } else {
            write(core.part(&shared, n, 1, 0).1);
        }
    });
    assert!(refused > 0);
}

#[test]
fn reader_and_writer_of_2() {
    check(3, || a_reader_and_a_writer_do_not_both_get_it(2));
}

#[test]
fn reader_and_writer_of_3() {
    check(2, || a_reader_and_a_writer_do_not_both_get_it(3));
}

fn the_lender_works_beside(n: usize) {
    let (mut values, mut own) = (buffer(n), buffer(1));
    let mut shared = Shared::new(&mut values);
    let refused = run(&team(), n, Some(&mut || write(&mut own)), &|core| {
        write(core.part(&shared, n, 1, 0).1);
        core.barrier();
        read(core.read(&shared));
    });
    assert_eq!(refused, 0);
    write(shared.get_mut());
    write(&mut own);
}

#[test]
fn beside_of_2() {
    check(3, || the_lender_works_beside(2));
}

#[test]
fn beside_of_3() {
    check(2, || the_lender_works_beside(3));
}

/// Workers that are there before they are called, for several regions; what a region borrows is its lender's again.
fn regions_are_handed_over_and_back(n: usize, n_regions: usize) {
    let team = team();
    let worker = |core| {
        let team = team.clone();
        thread::spawn(move || {
            for _ in 0..n_regions {
                while !team.serve(core) {
                    relax();
                }
            }
        })
    };
    let workers: Vec<_> = (1..n).map(worker).collect();
    for turn in 0..n_regions {
        let mut values = buffer(n);
        let shared = Shared::new(&mut values);
        let region: Region<'_> = &|core| write(core.part(&shared, n, 1, turn).1);
        if turn % 2 == 0 {
            team.run(n, region, &mut || {});
        } else {
            team.run_beside(n, &mut || {}, region, &mut || {});
        }
        write(&mut values);
    }
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn hand_over_of_2() {
    check(3, || regions_are_handed_over_and_back(2, 2));
}

#[test]
fn hand_over_of_3() {
    check(1, || regions_are_handed_over_and_back(3, 1));
}

fn a_panic_leaves_nobody_with_what_was_lent(n: usize) {
    let mut values = buffer(n);
    let mut shared = Shared::new(&mut values);
    let refused = run(&team(), n, None, &|core| {
        let part = core.part(&shared, n, 1, 0).1;
        if core.id() == 0 {
            panic!("another core of this region panicked: this");
        }
        write(part);
        core.barrier();
    });
    assert!(refused >= n);
    write(shared.get_mut());
}

#[test]
fn panic_of_2() {
    check(3, || a_panic_leaves_nobody_with_what_was_lent(2));
}

#[test]
fn panic_of_3() {
    check(1, || a_panic_leaves_nobody_with_what_was_lent(3));
}

/// Two regions of two teams: in turn, or one of them is refused.
#[test]
fn two_teams_and_one_buffer() {
    check(3, || {
        let mut values = buffer(1);
        let shared = Shared::new(&mut values);
        let region: Region<'_> = &|core| write(core.part(&shared, 1, 1, 0).1);
        let refused = run(
            &team(),
            2,
            Some(&mut || {
                run(&team(), 1, None, region);
            }),
            region,
        );
        // One that is refused beside the other, and its lender.
        assert!(refused <= 2);
        write(&mut values);
    });
}

/// Two cores with the same number, of two teams: a piece has one holder.
#[test]
fn two_teams_and_one_piece() {
    check(3, || {
        let mut values = buffer(1);
        let private = Private::new(&mut values, 1);
        let region: Region<'_> = &|core| {
            is_refused(
                || write(&mut core.private(&private)),
                &["takes a private buffer twice"],
            );
        };
        let refused = run(
            &team(),
            2,
            Some(&mut || {
                run(&team(), 1, None, region);
            }),
            region,
        );
        assert_eq!(refused, 0);
        write(&mut values);
    });
}
