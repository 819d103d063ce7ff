//! Cores 1-3: released from the firmware's spin table, and known to be alive or not.
//!
//! Each sleeps in `wfe` in the firmware's stub at page 0, reading its slot with caches off. It is
//! released by an address in that slot, and runs `_secondary_start`.
//!
//! **Resources**: the firmware's `armstub8.S` (slots at 0xd8 + 8 · core); docs/hardware.md SMP-1 to SMP-4.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use core::time::Duration;

use crate::layout::N_CORES;
use crate::{cache, mmu, wait};

/// Where the slot of core 0 would be; one of eight bytes follows for each further core.
const SPIN_TABLE_ADDR: usize = 0xd8;

/// How long a core may take from its release to its flag.
const LIMIT: Duration = Duration::from_millis(200);

/// Between two wake-up events, should the first have come before the core slept.
const RETRY: Duration = Duration::from_millis(5);

#[repr(align(64))]
struct Alive(AtomicBool);

static ALIVE: [Alive; N_CORES] = [const { Alive(AtomicBool::new(false)) }; N_CORES];

/// Cores that stop before they are alive, as if they had not come up: bit N is core N.
static STOPPED: AtomicU8 = AtomicU8::new(0);

unsafe extern "C" {
    fn _secondary_start();
}

/// The calling core is up: MMU and caches on, about to enter the kernel. Does not return on a core that is
/// to stop.
pub(crate) fn report_alive(core: usize) {
    // Stored before the release of this core, which it has come through.
    while STOPPED.load(Ordering::Acquire) & 1 << core != 0 {
        wait::for_interrupt();
    }
    ALIVE[core].0.store(true, Ordering::Release);
    wait::wake();
}

/// Whether `core` has come up. Core 0 is the one that asks.
pub fn is_alive(core: usize) -> bool {
    core == 0 || ALIVE[core].0.load(Ordering::Acquire)
}

/// Releases `cores` and waits until they are alive or their time is over; then page 0, which nobody
/// needs any more, becomes unmapped, so that null pointers fault.
///
/// `stopped`: bit N for a core N that is released and stops before it is alive, to see what becomes of the others.
///
/// # Panics
/// When called twice, or for a core that does not exist.
pub fn start(cores: Range<usize>, stopped: u8) -> [bool; N_CORES] {
    // The barriers of `cache::clean` put it before the release of the cores that read it.
    STOPPED.store(stopped, Ordering::Release);
    assert!(cores.end <= N_CORES && !cores.contains(&0));
    let page_zero_is_mapped = mmu::lookup(0).is_some();
    assert!(page_zero_is_mapped, "cores are started once");
    let entry = _secondary_start as *const () as usize as u64;
    for core in cores.clone() {
        let addr = SPIN_TABLE_ADDR + 8 * core;
        let slot: *mut u64 = core::ptr::with_exposed_provenance_mut(addr);
        // SAFETY: the slot of a parked core in page 0, which is mapped and which no Rust value
        // occupies.
        unsafe { slot.write_volatile(entry) };
        // The core reads past our caches.
        cache::clean(addr, 8);
    }
    let all_alive = || cores.clone().all(is_alive);
    let rounds = LIMIT.as_micros() / RETRY.as_micros();
    for _ in 0..rounds {
        wait::wake();
        if wait::until(RETRY, all_alive) {
            break;
        }
    }
    // SAFETY: a core that is still parked there has its MMU off and is not concerned.
    let unmapped = unsafe { mmu::unmap(mmu::PAGE_ZERO) };
    assert_eq!(unmapped, Ok(()), "page 0 was mapped by `mmu::init`");
    core::array::from_fn(is_alive)
}
