//! Claims and the barrier.

use super::{buffer, check, read, run, team, write};
use crate::Shared;

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
