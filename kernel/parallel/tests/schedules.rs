//! Seeded schedules of real threads: claims that agree never panic, and a wrong one does, before two cores hold what
//! one of them may write.

mod threads;

use parallel::{Core, Cores, Shared};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use threads::{Threads, panic_of};

const N_SCHEDULES: u64 = if cfg!(miri) { 60 } else { 12_000 };
const LEN: usize = 24;
/// In a value's mark: a core that may write it. Below, the number of readers.
const WRITER: u32 = 1 << 16;

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Use {
    Read,
    Part {
        n_items: usize,
        unit: usize,
        turn: usize,
    },
}

impl Use {
    fn seeded(random: &mut Random) -> Use {
        if random.below(3) == 0 {
            return Use::Read;
        }
        let unit = 1 + random.below(3);
        Use::Part {
            n_items: 1 + random.below(LEN / unit),
            unit,
            turn: random.below(5),
        }
    }
}

/// What a core does wrong at one step.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    Other(Use),
    Twice,
    Nothing,
    /// Its own number as the turn, on all cores.
    OwnTurn,
}

#[derive(Debug)]
struct Schedule {
    n: usize,
    /// Buffer and use, by step.
    steps: Vec<(usize, Use)>,
    /// Step, core and what.
    wrong: Option<(usize, usize, Wrong)>,
    delays: usize,
}

impl Schedule {
    fn seeded(seed: u64) -> Schedule {
        let random = &mut Random((seed * 2 + 1) | (1 << 40));
        (0..8).for_each(|_| _ = random.below(2));
        let n = 2 + random.below(3);
        let steps: Vec<_> = (0..1 + random.below(4))
            .map(|_| (random.below(2), Use::seeded(random)))
            .collect();
        let (step, core) = (random.below(steps.len()), random.below(n));
        let right = steps[step].1;
        let wrong = match random.below(6) {
            0 | 1 => None,
            2 if right != Use::Read => Some(Wrong::Twice),
            3 if right != Use::Read => Some(Wrong::OwnTurn),
            4 => Some(Wrong::Nothing),
            _ => Some(Wrong::Other(loop {
                let other = Use::seeded(random);
                if other != right {
                    break other;
                }
            })),
        };
        Schedule {
            n,
            steps,
            wrong: wrong.map(|wrong| (step, core, wrong)),
            delays: random.below(1 << 16),
        }
    }

    /// Runs it; returns what it panics with.
    fn run(&self, overlap: &AtomicBool) -> Option<String> {
        let mut marks = [const { [const { AtomicU32::new(0) }; LEN] }; 2];
        let [a, b] = &mut marks;
        let buffers = [Shared::new(a), Shared::new(b)];
        panic_of(|| {
            Threads::new(self.n).run(&|core| {
                for (number, &(buffer, right)) in self.steps.iter().enumerate() {
                    self.delay(core.id(), number);
                    let shared = &buffers[buffer];
                    match self.wrong {
                        Some((step, wrong_core, wrong)) if step == number => {
                            let is_wrong = wrong_core == core.id();
                            take_wrongly(core, shared, right, wrong, is_wrong, overlap);
                        }
                        _ => take(core, shared, right, overlap),
                    }
                    core.barrier();
                }
            });
        })
    }

    fn delay(&self, core: usize, step: usize) {
        for _ in 0..self.delays >> (2 * (core + step) % 13) & 3 {
            thread::yield_now();
        }
    }
}

fn take(core: &Core<'_>, shared: &Shared<'_, AtomicU32>, how: Use, overlap: &AtomicBool) {
    match how {
        Use::Read => hold(core.read(shared), 1, overlap),
        Use::Part {
            n_items,
            unit,
            turn,
        } => {
            hold(core.part(shared, n_items, unit, turn).1, WRITER, overlap);
        }
    }
}

fn take_wrongly(
    core: &Core<'_>,
    shared: &Shared<'_, AtomicU32>,
    right: Use,
    wrong: Wrong,
    is_wrong: bool,
    overlap: &AtomicBool,
) {
    match (wrong, right) {
        (Wrong::OwnTurn, Use::Part { n_items, unit, .. }) => {
            let turn = core.id();
            take(
                core,
                shared,
                Use::Part {
                    n_items,
                    unit,
                    turn,
                },
                overlap,
            );
        }
        (Wrong::Other(other), _) if is_wrong => take(core, shared, other, overlap),
        (Wrong::Twice, _) if is_wrong => {
            take(core, shared, right, overlap);
            take(core, shared, right, overlap);
        }
        (Wrong::Nothing, _) if is_wrong => {}
        _ => take(core, shared, right, overlap),
    }
}

/// Marks `values` as held for a while, and notes who else holds them.
fn hold(values: &[AtomicU32], mark: u32, overlap: &AtomicBool) {
    let is_alone = |others: u32| others == 0 || (mark == 1 && others < WRITER);
    for value in values {
        if !is_alone(value.fetch_add(mark, SeqCst)) {
            overlap.store(true, SeqCst);
        }
    }
    thread::yield_now();
    for value in values {
        if !is_alone(value.fetch_sub(mark, SeqCst) - mark) {
            overlap.store(true, SeqCst);
        }
    }
}

#[test]
fn wrong_claims_panic_and_right_ones_do_not() {
    std::panic::set_hook(Box::new(|_| {}));
    let overlap = AtomicBool::new(false);
    let mut n_wrong = 0;
    for seed in 0.. {
        if n_wrong == N_SCHEDULES {
            break;
        }
        let schedule = Schedule::seeded(seed);
        let panic = schedule.run(&overlap);
        let is_as_due = panic.is_some() == schedule.wrong.is_some();
        if !is_as_due || overlap.load(SeqCst) {
            _ = std::panic::take_hook();
            panic!("seed {seed}, {schedule:?}: {panic:?}, overlap {overlap:?}");
        }
        n_wrong += u64::from(schedule.wrong.is_some());
    }
}
