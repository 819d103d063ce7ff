//! The four cores as one team: implements [`ops::parallel::Cores`].
//!
//! Core 0 publishes a region and takes part in it; the others sleep in `wfe` until the number of the
//! region in their own cache line changes. No flag is written by two cores, so that no exclusive is
//! needed between them.
//!
//! In QEMU `wfe` does not sleep: three idle cores would keep a host processor busy for as long as
//! nobody types. There, and only there, a core that has been idle for a while sleeps in `wfi` and is
//! woken by an interrupt.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};

use boot::layout::N_CORES;
use boot::{cores, pmu, wait};
use drivers::clock::Clock as _;
use drivers::gic::Gic;
use ops::parallel::{Core, Cores, Team};

use crate::board;
use crate::clock::Clock;

type Region<'r> = dyn Fn(&mut Core<'_>) + Sync + 'r;

/// What core 0 tells one worker; a cache line of its own.
#[repr(align(64))]
struct Order {
    /// Number of the region to run: a new number is a new region.
    number: AtomicU32,
}

/// Whether one worker sleeps in `wfi`; a cache line of its own.
#[repr(align(64))]
struct Doze(AtomicBool);

/// How long a worker waits for an order before it sleeps in `wfi`.
const DOZE_AFTER_US: u64 = 20_000;

struct Pool {
    team: Team,
    orders: [Order; N_CORES],
    dozes: [Doze; N_CORES],
    may_doze: AtomicBool,
    /// The core with number 0 in the region's team.
    first: AtomicUsize,
    region: UnsafeCell<Option<&'static Region<'static>>>,
    n_cores: AtomicUsize,
    n_regions: AtomicU32,
}

// SAFETY: `region` is written by core 0 while all workers wait for an order, and read by workers
// after an order (release/acquire on `number`).
unsafe impl Sync for Pool {}

static POOL: Pool = Pool {
    team: Team::new(wait::relax),
    orders: [const {
        Order {
            number: AtomicU32::new(0),
        }
    }; N_CORES],
    dozes: [const { Doze(AtomicBool::new(false)) }; N_CORES],
    may_doze: AtomicBool::new(false),
    first: AtomicUsize::new(0),
    region: UnsafeCell::new(None),
    n_cores: AtomicUsize::new(1),
    n_regions: AtomicU32::new(0),
};

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
    /// `may_doze`: idle workers sleep in `wfi`.
    ///
    /// # Panics
    /// When called twice.
    pub fn start(wanted: usize, may_doze: bool) -> (CorePool, [bool; N_CORES]) {
        pmu::start();
        POOL.may_doze.store(may_doze, Ordering::Relaxed);
        let alive = cores::start(1..wanted.clamp(1, N_CORES));
        let n_alive = alive.iter().take_while(|&&alive| alive).count();
        POOL.n_cores.store(n_alive, Ordering::Relaxed);
        (CorePool { n_alive }, alive)
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
        let n = self.n_cores();
        // waits for the workers of the last region to have left it
        POOL.team.begin(n);
        // SAFETY: the team has begun; all cores of it reach the last meeting inside `enter`, behind
        // which none touches the region, before this function returns.
        unsafe { order(0, n, region) };
        POOL.team.enter(0, region);
    }

    fn run_beside(&self, main: &mut dyn FnMut(), region: &(dyn Fn(&mut Core<'_>) + Sync)) {
        let n = self.n_cores();
        if n == 1 {
            main();
            return self.run(region);
        }
        POOL.team.begin_beside(n - 1);
        // SAFETY: the team has begun; `join` returns when all cores of it have left the region. A
        // panic in `main` ends the firmware.
        unsafe { order(1, n, region) };
        main();
        POOL.team.join();
    }
}

/// Has the workers among the cores `first..n` run `region` as the cores 0, 1, … of the team.
///
/// # Safety
/// The team has begun, so that all workers wait for an order, and `region` lives until they have left
/// it.
unsafe fn order(first: usize, n: usize, region: &Region<'_>) {
    // SAFETY: the caller keeps it alive for as long as workers use it.
    let region = unsafe { core::mem::transmute::<&Region<'_>, &'static Region<'static>>(region) };
    // SAFETY: all workers wait for an order.
    unsafe { *POOL.region.get() = Some(region) };
    POOL.first.store(first, Ordering::Relaxed);
    let number = POOL.n_regions.load(Ordering::Relaxed).wrapping_add(1);
    POOL.n_regions.store(number, Ordering::Relaxed);
    for order in &POOL.orders[1..n] {
        // Release: whoever sees the number sees the region.
        order.number.store(number, Ordering::Release);
    }
    wait::wake();
    // Between the order and this look, as between a worker's mark and its last look for an order:
    // without the fences both could miss the other's.
    fence(Ordering::SeqCst);
    for core in (1..n).filter(|&core| POOL.dozes[core].0.load(Ordering::Relaxed)) {
        board::wake_core(core);
    }
}

/// The life of cores 1-3.
pub fn work(core: usize) -> ! {
    pmu::start();
    let may_doze = POOL.may_doze.load(Ordering::Relaxed);
    let mut gic = may_doze.then(board::init_worker_interrupts);
    let mut done = 0;
    let mut idle_since_us = Clock.now_us();
    loop {
        let number = POOL.orders[core].number.load(Ordering::Acquire);
        if number == done {
            match &mut gic {
                Some(gic) if Clock.now_us() - idle_since_us > DOZE_AFTER_US => {
                    doze(core, done, gic);
                    idle_since_us = Clock.now_us();
                }
                _ => wait::for_event(),
            }
            continue;
        }
        done = number;
        // SAFETY: written before the order; core 0 does not touch it until this core has left.
        if let Some(region) = unsafe { *POOL.region.get() } {
            POOL.team
                .enter(core - POOL.first.load(Ordering::Relaxed), region);
        }
        idle_since_us = Clock.now_us();
    }
}

/// Sleeps until core 0 sends an interrupt, unless there is an order by now.
fn doze(core: usize, done: u32, gic: &mut Gic) {
    POOL.dozes[core].0.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    if POOL.orders[core].number.load(Ordering::Relaxed) == done {
        // Interrupts are masked on this core: it wakes, and takes none.
        wait::for_interrupt();
    }
    POOL.dozes[core].0.store(false, Ordering::Relaxed);
    while let Some(taken) = gic.take() {
        gic.end(taken);
    }
}
