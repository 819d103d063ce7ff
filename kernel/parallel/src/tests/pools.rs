//! Lending a region and having it back.

use loom::thread;
use std::vec::Vec;

use super::{Region, buffer, check, is_refused, read, relax, run, team, write};
use crate::{Private, Shared};

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
