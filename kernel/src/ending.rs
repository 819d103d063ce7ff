//! The end of the program: one core reports it, the others stop.

use core::sync::atomic::{AtomicUsize, Ordering};

use boot::{cpu, wait};

const NOBODY: usize = usize::MAX;

/// The core that ends the program.
static ENDING: AtomicUsize = AtomicUsize::new(NOBODY);

/// Whose the report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The caller's: nobody was first.
    First,
    /// The caller's, whose own report has failed.
    Again,
    /// Another core's.
    Other,
}

/// Lets core `core` report the end, unless there is one already; the others [`stop_if_begun`].
pub fn begin(core: usize) -> Turn {
    match ENDING.compare_exchange(NOBODY, core, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Turn::First,
        Err(first) if first == core => Turn::Again,
        Err(_) => Turn::Other,
    }
}

/// Stops the calling core if another one is ending the program.
#[inline]
pub fn stop_if_begun() {
    if ENDING.load(Ordering::Acquire) != NOBODY {
        stop();
    }
}

/// Stops the calling core for good.
#[cold]
#[inline(never)]
pub fn stop() -> ! {
    cpu::mask_all();
    loop {
        wait::for_event();
    }
}
