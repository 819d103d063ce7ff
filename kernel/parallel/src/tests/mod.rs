//! loom's models: every order in which 2 and 3 cores may run and see each other's writes, within bounds.
//!
//! The bounds: up to three preemptions for 2 cores, one or two for 3, whose models take hours without a bound. After
//! [`MAX_WAITS`] turns of waiting loops an execution is run to its end, without other orders of its rest. The values of
//! a buffer are loom's cells: two slices that overlap fail a model even when nothing is written.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p parallel --lib --target-dir target/loom
//! ```

mod claims;
mod pools;

use core::cell::Cell;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::string::String;
use std::vec::Vec;

use crate::{Core, Team};

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

/// A turn of a waiting loop. An execution that has many goes on in the one way that loom takes first: two cores could
/// wait for a third in turn for ever.
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
