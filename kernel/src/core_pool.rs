//! The four cores as one team: implements [`parallel::Cores`].
//!
//! Core 0 lends a region to the others and takes part in it; they sleep in `wfe` until they are called.
//!
//! In QEMU `wfe` does not sleep: three idle cores would keep a host processor busy for as long as
//! nobody types. There, and only there, a core that has been idle for a while sleeps in `wfi` and is
//! woken by an interrupt.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

use boot::layout::N_CORES;
use boot::{cores, pmu, wait};
use drivers::clock::Clock as _;
use drivers::gic::Gic;
use parallel::{Absence, Core, Cores, Team};

use crate::clock::Clock;
use crate::{board, ending};

/// Whether one worker sleeps in `wfi`; a cache line of its own.
#[repr(align(64))]
struct Doze(AtomicBool);

/// How long a worker waits for a region before it sleeps in `wfi`.
const DOZE_AFTER_US: u64 = 20_000;

struct Pool {
    team: Team,
    dozes: [Doze; N_CORES],
    may_doze: AtomicBool,
    n_cores: AtomicUsize,
    /// How long a core may keep the others waiting at a barrier, in seconds; 0 is for ever.
    barrier_limit_s: AtomicU64,
}

static POOL: Pool = Pool {
    team: Team::new(relax).watched(watch),
    dozes: [const { Doze(AtomicBool::new(false)) }; N_CORES],
    may_doze: AtomicBool::new(false),
    n_cores: AtomicUsize::new(1),
    barrier_limit_s: AtomicU64::new(0),
};

/// One turn of a wait for another core.
fn relax() {
    ending::stop_if_begun();
    wait::relax();
}

/// Ends the program when a core has been missed at a barrier for too long; `since` is the time of the first look.
fn watch(since: Option<u64>, absence: &Absence) -> u64 {
    let now_us = Clock.now_us();
    let since_us = since.unwrap_or(now_us);
    let limit_s = POOL.barrier_limit_s.load(Ordering::Relaxed);
    let is_over = limit_s != 0 && (now_us - since_us) / 1_000_000 >= limit_s;
    assert!(!is_over, "{absence} for {limit_s} s");
    since_us
}

/// The cores that came up. There is one pool; this is a handle to it for core 0.
#[derive(Debug)]
pub struct CorePool {
    n_alive: usize,
}

impl CorePool {
    /// Releases up to `wanted` cores (core 0 included) and returns the pool of those that came up,
    /// with a mark for each.
    ///
    /// A team needs consecutive numbers: a core that is missing costs those behind it as well.
    /// `stopped`: bit N for a core N that is to stop before it is alive. `may_doze`: idle workers sleep in `wfi`.
    ///
    /// # Panics
    /// When called twice.
    pub fn start(wanted: usize, stopped: u8, may_doze: bool) -> (CorePool, [bool; N_CORES]) {
        pmu::start();
        POOL.may_doze.store(may_doze, Ordering::Relaxed);
        let alive = cores::start(1..wanted.clamp(1, N_CORES), stopped);
        let n_alive = alive.iter().take_while(|&&alive| alive).count();
        POOL.n_cores.store(n_alive, Ordering::Relaxed);
        (CorePool { n_alive }, alive)
    }

    /// Panics from now on when a core keeps others waiting at a barrier for `seconds`; 0: never.
    pub fn set_barrier_limit(&self, seconds: u64) {
        POOL.barrier_limit_s.store(seconds, Ordering::Relaxed);
    }

    /// Cores that could run.
    pub fn n_alive(&self) -> usize {
        self.n_alive
    }

    /// Uses `n` cores from now on, as far as they are alive; returns how many.
    pub fn set_n_cores(&self, n: usize) -> usize {
        let n = n.clamp(1, self.n_alive);
        POOL.n_cores.store(n, Ordering::Relaxed);
        n
    }
}

impl Cores for CorePool {
    fn n_cores(&self) -> usize {
        POOL.n_cores.load(Ordering::Relaxed)
    }

    fn run(&self, region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        POOL.team.run(self.n_cores(), region, &mut wake_workers);
    }

    fn run_beside(&self, main: &mut dyn FnMut(), region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        let n = self.n_cores();
        POOL.team.run_beside(n, main, region, &mut wake_workers);
    }
}

/// Has the workers look whether they are called.
fn wake_workers() {
    wait::wake();
    // Between the call and this look, as between a worker's mark and its last look for a call:
    // without the fences both could miss the other's.
    fence(Ordering::SeqCst);
    for core in (1..N_CORES).filter(|&core| POOL.dozes[core].0.load(Ordering::Relaxed)) {
        board::wake_core(core);
    }
}

/// The life of cores 1-3.
pub fn work(core: usize) -> ! {
    pmu::start();
    let may_doze = POOL.may_doze.load(Ordering::Relaxed);
    let mut gic = may_doze.then(board::init_worker_interrupts);
    let mut idle_since_us = Clock.now_us();
    loop {
        ending::stop_if_begun();
        if POOL.team.serve(core) {
            idle_since_us = Clock.now_us();
            continue;
        }
        match &mut gic {
            Some(gic) if Clock.now_us() - idle_since_us > DOZE_AFTER_US => {
                doze(core, gic);
                idle_since_us = Clock.now_us();
            }
            _ => wait::for_event(),
        }
    }
}

/// Sleeps until core 0 sends an interrupt, unless it has called by now.
fn doze(core: usize, gic: &mut Gic) {
    POOL.dozes[core].0.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    if !POOL.team.is_called(core) {
        // Interrupts are masked on this core: it wakes, and takes none.
        wait::for_interrupt();
    }
    POOL.dozes[core].0.store(false, Ordering::Relaxed);
    while let Some(taken) = gic.take() {
        gic.end(taken);
    }
}
