//! How to wait: every loop that waits has one of these in it.
//!
//! On the board `yield` costs nothing and `wfe` saves power; in QEMU with one host thread they hand
//! the turn to the core that is waited for, without which a barrier takes for ever.

use core::time::Duration;

use aarch64_cpu::asm::{self, barrier};
use aarch64_cpu::registers::{CNTFRQ_EL0, CNTVCT_EL0, Readable};

use crate::registers;

/// One turn of a short wait: another core will be done in microseconds.
pub fn relax() {
    // SAFETY: `yield` is a hint.
    unsafe { core::arch::asm!("yield", options(nomem, nostack, preserves_flags)) };
}

/// Sleeps until another core calls [`wake`] (or an event that happened since the last call).
pub fn for_event() {
    asm::wfe();
}

/// Sleeps until an interrupt is pending, masked or not.
pub fn for_interrupt() {
    barrier::dsb(barrier::SY);
    asm::wfi();
}

/// Wakes all cores that are in [`for_event`], after what was written before has become visible.
pub fn wake() {
    barrier::dsb(barrier::ISHST);
    asm::sev();
}

/// The counter of the generic timer, in ticks since power-on.
pub fn ticks() -> u64 {
    // Without it the counter may be read ahead of the code that is being timed.
    barrier::isb(barrier::SY);
    CNTVCT_EL0.get()
}

/// Ticks per second: 54 MHz on the board, 62.5 MHz in QEMU.
pub fn ticks_per_second() -> u64 {
    registers::counter_hz(CNTFRQ_EL0.get())
}

/// Waits until `done` or until `limit` has passed; says whether it was done.
pub fn until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let limit_ticks = (limit.as_micros() as u64) * ticks_per_second() / 1_000_000;
    let start = ticks();
    loop {
        if done() {
            return true;
        }
        if ticks() - start >= limit_ticks {
            return done();
        }
        relax();
    }
}
