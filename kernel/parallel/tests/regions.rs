//! What regions and buffers promise, and what they refuse.

mod threads;

use parallel::{Cores, Private, Serial, Shared};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use threads::{Threads, panic_of};

const TWO_WAYS: &str = "a shared buffer is used in two ways within one step";
const TWO_REGIONS: &str = "a shared buffer is used by two regions at once";
const TWICE: &str = "a core takes its part of a shared buffer twice within one step";

/// What each core's region panics with, in the order of the panics.
fn panics(n: usize, region: &(dyn Fn(&mut parallel::Core<'_>) + Sync)) -> Vec<String> {
    let all = Mutex::new(Vec::new());
    let outer = panic_of(|| {
        Threads::new(n).run(&|core| {
            if let Some(message) = panic_of(|| region(core)) {
                all.lock().unwrap().push(message.clone());
                panic!("{message}");
            }
        });
    });
    let all = all.into_inner().unwrap();
    assert_eq!(outer.is_some(), !all.is_empty());
    all
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
fn a_part_with_the_cores_number_in_it_is_refused() {
    let mut values = vec![0u8; 8];
    let shared = Shared::new(&mut values);
    // Core 1's share, turned by 1, is core 0's.
    let panics = panics(2, &|core| {
        core.part(&shared, 8, 1, core.id()).1.fill(1);
        core.barrier();
    });
    assert_eq!(panics[0], TWO_WAYS);
    assert!(panics.len() == 2, "{panics:?}");
}

#[test]
fn what_one_core_reads_no_other_writes() {
    let mut values = vec![0u8; 8];
    let shared = Shared::new(&mut values);
    let panics = panics(3, &|core| {
        if core.id() == 1 {
            core.part(&shared, 8, 1, 0);
        } else {
            core.read(&shared);
        }
        core.barrier();
    });
    assert_eq!(panics[0], TWO_WAYS);
}

#[test]
fn a_part_is_taken_once_a_step_and_by_the_same_numbers() {
    let serial = |region: &(dyn Fn(&parallel::Core<'_>, &Shared<'_, u8>) + Sync)| {
        let mut values = [0; 8];
        let shared = Shared::new(&mut values);
        panic_of(|| Serial::new().run(&|core| region(core, &shared))).unwrap()
    };
    let twice = serial(&|core, shared| {
        core.part(shared, 8, 1, 0);
        core.part(shared, 8, 1, 0);
    });
    assert_eq!(twice, TWICE);
    for (n_items, unit, turn) in [(7, 1, 0), (4, 2, 0), (8, 1, 1)] {
        let other = serial(&|core, shared| {
            core.part(shared, 8, 1, 0);
            core.part(shared, n_items, unit, turn);
        });
        assert_eq!(other, TWO_WAYS);
    }
    let read = serial(&|core, shared| {
        core.read(shared);
        core.part(shared, 8, 1, 0);
    });
    assert_eq!(read, TWO_WAYS);
    let overflowing = serial(&|core, shared| {
        core.part(shared, usize::MAX, 2, 0);
    });
    assert_eq!(overflowing, format!("{} items of 2 in 8", usize::MAX));
}

#[test]
fn shares_are_disjoint_for_any_numbers() {
    let ends = Mutex::new(Vec::new());
    Threads::new(3).run(&|core| {
        for turn in [0, 1, usize::MAX - 1, usize::MAX] {
            for n_items in [0, 1, 7, usize::MAX] {
                let share = core.share(n_items, turn);
                ends.lock()
                    .unwrap()
                    .push((turn, n_items, share.start, share.end));
            }
        }
    });
    let mut ends = ends.into_inner().unwrap();
    ends.sort_unstable();
    for shares in ends.chunks_exact(3) {
        let n_items = shares[0].1;
        let cuts: Vec<_> = shares.iter().flat_map(|share| [share.2, share.3]).collect();
        assert!(cuts.is_sorted(), "{shares:?}");
        assert_eq!(
            (cuts[0], cuts[1], cuts[3], cuts[5]),
            (0, cuts[2], cuts[4], n_items)
        );
    }
}

#[test]
fn two_regions_use_a_buffer_one_after_the_other() {
    let mut values = [0u8; 8];
    let shared = Shared::new(&mut values);
    let (one, other) = (Serial::new(), Serial::new());
    for pool in [&one, &other, &one] {
        pool.run(&|core| core.part(&shared, 8, 1, 0).1.fill(1));
    }
    let nested = panic_of(|| {
        one.run(&|core| {
            core.read(&shared);
            other.run(&|core| {
                core.part(&shared, 8, 1, 0);
            });
        });
    });
    assert_eq!(nested.as_deref(), Some(TWO_REGIONS));
    // Neither region runs any more.
    Serial::new().run(&|core| core.part(&shared, 8, 1, 0).1.fill(2));
    assert_eq!(values, [2; 8]);
}

#[test]
fn a_core_whose_barrier_failed_gets_nothing_more() {
    let mut values = [0u8; 8];
    let shared = Shared::new(&mut values);
    let panics = panics(2, &|core| {
        if core.id() == 0 {
            core.read(&shared);
        }
        let barrier = catch_unwind(AssertUnwindSafe(|| core.barrier()));
        if barrier.is_err() {
            core.read(&shared);
        }
    });
    assert!(
        panics.contains(&String::from("a core goes on after its barrier failed")),
        "{panics:?}"
    );
}
