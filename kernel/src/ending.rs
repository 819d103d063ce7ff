//! The end of the program: one core reports it, the others stop.

use core::sync::atomic::{AtomicUsize, Ordering};

const NOBODY: usize = usize::MAX;

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

/// Which core ends the program.
struct Ending(AtomicUsize);

impl Ending {
    const fn new() -> Self {
        Self(AtomicUsize::new(NOBODY))
    }

    fn begin(&self, core: usize) -> Turn {
        let exchange = self
            .0
            .compare_exchange(NOBODY, core, Ordering::AcqRel, Ordering::Acquire);
        match exchange {
            Ok(_) => Turn::First,
            Err(first) if first == core => Turn::Again,
            Err(_) => Turn::Other,
        }
    }

    #[inline]
    fn has_begun(&self) -> bool {
        self.0.load(Ordering::Acquire) != NOBODY
    }

    /// Whether a core other than `core` does.
    fn is_of_another(&self, core: usize) -> bool {
        self.has_begun() && self.0.load(Ordering::Acquire) != core
    }
}

#[cfg(target_os = "none")]
pub use target::{begin, stop, stop_if_begun};

#[cfg(target_os = "none")]
mod target {
    use boot::{cpu, layout, wait};

    use super::{Ending, Turn};

    static ENDING: Ending = Ending::new();

    /// Lets core `core` report the end, unless there is one already; the others [`stop_if_begun`].
    pub fn begin(core: usize) -> Turn {
        ENDING.begin(core)
    }

    /// Stops the calling core if another one is ending the program.
    #[inline]
    pub fn stop_if_begun() {
        if ENDING.has_begun() {
            stop_if_anothers();
        }
    }

    #[cold]
    #[inline(never)]
    fn stop_if_anothers() {
        if ENDING.is_of_another(layout::core_id()) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_core_reports_and_the_others_stop() {
        let ending = Ending::new();
        assert!(!ending.has_begun() && !ending.is_of_another(0));
        assert_eq!(ending.begin(2), Turn::First);
        assert_eq!(ending.begin(0), Turn::Other);
        assert_eq!(ending.begin(2), Turn::Again);
        assert!(ending.has_begun() && ending.is_of_another(0));
        assert!(!ending.is_of_another(2), "its report goes on");
    }
}
