//! The four cores as one team: implements [`ops::parallel::Cores`].
//!
//! Core 0 publishes a region and takes part in it; the others sleep in `wfe` until the number of the
//! region in their own cache line changes. No flag is written by two cores, so that no exclusive is
//! needed between them.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use boot::layout::N_CORES;
use boot::{cores, pmu, wait};
use ops::parallel::{Core, Cores, Team};

type Region<'r> = dyn Fn(&mut Core<'_>) + Sync + 'r;

/// What core 0 tells one worker; a cache line of its own.
#[repr(align(64))]
struct Order {
    /// Number of the region to run: a new number is a new region.
    number: AtomicU32,
}

struct Pool {
    team: Team,
    orders: [Order; N_CORES],
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
    ///
    /// # Panics
    /// When called twice.
    pub fn start(wanted: usize) -> (CorePool, [bool; N_CORES]) {
        pmu::start();
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
        // SAFETY: workers read it between the order below and the last meeting of the team inside
        // `enter`, which all cores reach before this function returns: the borrow is long enough.
        let region_for_workers =
            unsafe { core::mem::transmute::<&Region<'_>, &'static Region<'static>>(region) };
        // SAFETY: all workers wait for an order.
        unsafe { *POOL.region.get() = Some(region_for_workers) };
        let number = POOL.n_regions.load(Ordering::Relaxed).wrapping_add(1);
        POOL.n_regions.store(number, Ordering::Relaxed);
        for order in &POOL.orders[1..n] {
            // Release: whoever sees the number sees the region.
            order.number.store(number, Ordering::Release);
        }
        wait::wake();
        POOL.team.enter(0, region);
    }
}

/// The life of cores 1-3.
pub fn work(core: usize) -> ! {
    pmu::start();
    let mut done = 0;
    loop {
        let number = POOL.orders[core].number.load(Ordering::Acquire);
        if number == done {
            wait::for_event();
            continue;
        }
        done = number;
        // SAFETY: written before the order; core 0 does not touch it until this core has left.
        if let Some(region) = unsafe { *POOL.region.get() } {
            POOL.team.enter(core, region);
        }
    }
}
