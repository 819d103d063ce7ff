//! A pool of threads, started anew for each region.

use parallel::{Core, Cores, Team};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, Scope};

pub struct Threads {
    n: usize,
    team: Team,
}

impl Threads {
    pub fn new(n: usize) -> Self {
        Threads {
            n,
            team: Team::new(thread::yield_now),
        }
    }

    fn start<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        for id in 1..self.n {
            scope.spawn(move || catch_unwind(AssertUnwindSafe(|| self.team.serve(id))));
        }
    }
}

impl Cores for Threads {
    fn n_cores(&self) -> usize {
        self.n
    }

    fn run(&self, region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        thread::scope(|scope| self.team.run(self.n, region, &mut || self.start(scope)));
    }

    fn run_beside(&self, main: &mut dyn FnMut(), region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        thread::scope(|scope| {
            let start = &mut || self.start(scope);
            self.team.run_beside(self.n, main, region, start);
        });
    }
}

/// What `f` panics with.
pub fn panic_of(f: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(f)).err()?;
    Some(match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => String::from(*panic.downcast_ref::<&str>().unwrap()),
    })
}
