//! A waiting lender cannot leave its region by a panic.

use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parallel::Team;

const CHILD: &str = "PILM_RELAX_PANICS";

static LENDER_WAITS: AtomicBool = AtomicBool::new(false);

fn relax() {
    if thread::current().name() == Some("lender") {
        LENDER_WAITS.store(true, Ordering::Release);
        panic!("no rest");
    }
    thread::yield_now();
}

/// Lends a region to core 1, which works in it until the lender waits.
fn lend() {
    static TEAM: Team = Team::new(relax);
    thread::spawn(|| while !TEAM.serve(1) {});
    let lender = thread::Builder::new().name("lender".into()).spawn(|| {
        TEAM.run_beside(
            2,
            &mut || {},
            &|_| {
                while !LENDER_WAITS.load(Ordering::Acquire) {
                    thread::yield_now()
                }
            },
            &mut || {},
        );
    });
    let _ = lender.unwrap().join();
}

#[test]
fn a_pause_that_panics_ends_the_program() {
    if env::var_os(CHILD).is_some() {
        return lend();
    }
    let output = Command::new(env::current_exe().unwrap())
        .arg("a_pause_that_panics_ends_the_program")
        .env(CHILD, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), None, "it aborts: {said}");
}
