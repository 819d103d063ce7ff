//! A core that does not come to a barrier, or out of its region, is told of.

use parallel::{Absence, Core, Team};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a core that nobody tells of stays away.
const PATIENCE: Duration = Duration::from_secs(20);

/// What `f` panics with.
fn panic_of(f: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(f)).err()?;
    let message = panic.downcast::<String>().map(|message| *message);
    Some(message.unwrap_or_default())
}

/// Lends `region` to the cores of `team`; `main` beside it, if there is one.
fn lend(
    team: &Team,
    n: usize,
    main: Option<&mut dyn FnMut()>,
    region: &(dyn Fn(&mut Core<'_>) + Sync),
) -> Option<String> {
    thread::scope(|scope| {
        let mut call = || {
            for core in 1..n {
                scope.spawn(move || panic_of(|| assert!(team.serve(core))));
            }
        };
        panic_of(|| match main {
            None => team.run(n, region, &mut call),
            Some(main) => team.run_beside(n, main, region, &mut call),
        })
    })
}

#[test]
fn the_absent_core_its_step_and_the_barrier_are_told() {
    static TOLD: Mutex<Vec<(Option<u64>, Absence)>> = Mutex::new(Vec::new());
    static LINE: AtomicU32 = AtomicU32::new(0);
    static IS_LATE: AtomicBool = AtomicBool::new(true);
    static TEAM: Team = Team::new(thread::yield_now).watched(|since, absence| {
        let mut told = TOLD.lock().unwrap();
        told.push((since, *absence));
        // Told twice: what was given back the first time has come back.
        if since == Some(7) {
            IS_LATE.store(false, Ordering::Release);
        }
        7
    });
    let panic = lend(&TEAM, 2, None, &|core| {
        for step in 0..4 {
            if step == 2 && core.id() == 1 {
                while IS_LATE.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            }
            LINE.store(line!() + 1, Ordering::Relaxed);
            core.barrier();
        }
    });
    assert_eq!(panic, None);
    let line = LINE.load(Ordering::Relaxed);
    let told = TOLD.lock().unwrap();
    assert_eq!((told[0].0, told[1].0), (None, Some(7)));
    let absence = told[0].1;
    let of = (absence.waiting, absence.absent, absence.step);
    assert_eq!(of, (0, 1, Some(2)));
    assert_eq!(absence.barrier.unwrap().line(), line);
    let says = format!(
        "core 1 hangs in step 2 of a region: core 0 waits for it at the barrier in {}:{line}",
        file!()
    );
    assert_eq!(absence.to_string(), says);
}

#[test]
fn a_watch_that_panics_ends_the_region_and_names_the_team_s_numbers() {
    static HAS_PANICKED: AtomicBool = AtomicBool::new(false);
    static TEAM: Team = Team::new(thread::yield_now).watched(|_, absence| {
        // The lender waits too: its region cannot be left by a panic.
        if absence.waiting == 0 {
            return 0;
        }
        HAS_PANICKED.store(true, Ordering::Release);
        panic!("{absence}");
    });
    let said = Mutex::new(String::new());
    let mut main = || {};
    // Beside `main` the region's cores 0 and 1 are the team's 1 and 2.
    let panic = lend(&TEAM, 3, Some(&mut main), &|core| {
        if core.id() == 1 {
            while !HAS_PANICKED.load(Ordering::Acquire) {
                thread::yield_now();
            }
        } else {
            *said.lock().unwrap() = panic_of(|| core.barrier()).unwrap();
            panic!("gone");
        }
    });
    assert!(panic.is_some());
    let said = said.into_inner().unwrap();
    assert!(
        said.starts_with("core 2 hangs in step 0 of a region: core 1 waits"),
        "{said}"
    );
}

#[test]
fn a_lender_that_waits_for_its_region_tells_of_who_is_behind() {
    static TOLD: Mutex<Vec<(Option<u64>, Absence)>> = Mutex::new(Vec::new());
    static IS_LATE: AtomicBool = AtomicBool::new(true);
    static TEAM: Team = Team::new(thread::yield_now).watched(|since, absence| {
        if absence.waiting == 0 {
            TOLD.lock().unwrap().push((since, *absence));
            if since == Some(7) {
                IS_LATE.store(false, Ordering::Release);
            }
        }
        7
    });
    for n in [2, 3] {
        TOLD.lock().unwrap().clear();
        IS_LATE.store(true, Ordering::Release);
        // The caller has nothing to do; the last core stays in the region's second step.
        let panic = lend(&TEAM, n, Some(&mut || {}), &|core| {
            core.barrier();
            let begun = Instant::now();
            let is_late = || IS_LATE.load(Ordering::Acquire) && begun.elapsed() < PATIENCE;
            while core.id() == n - 2 && is_late() {
                thread::yield_now();
            }
        });
        assert_eq!(panic, None);
        let told = TOLD.lock().unwrap();
        let (sinces, absences): (Vec<_>, Vec<_>) = told.iter().copied().unzip();
        assert_eq!(sinces.get(..2), Some(&[None, Some(7)][..]));
        let absence = absences[1];
        assert_eq!((absence.waiting, absence.absent), (0, n - 1));
        let says = match n {
            2 => "core 1 hangs in a region: core 0 waits for it at the region's end",
            _ => "core 2 hangs in step 1 of a region: core 0 waits for it at the region's end",
        };
        assert_eq!(absence.to_string(), says);
    }
}
