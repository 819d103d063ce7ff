//! A measured window: nothing else happens in it, and what happened in it is counted.
//!
//! Interrupts of core 0 are masked (the other cores take none), so that no byte of the UART moves;
//! whoever measures must not print, allocate or ask the mailbox either. The number of interrupts is
//! reported rather than assumed: a window with any is void.

use boot::layout::N_CORES;
use boot::pmu::{self, Counts};
use boot::{cpu, wait};
use ops::parallel::Cores;
use spin::Mutex;

use crate::board;
use crate::core_pool::CorePool;

/// What a window has seen.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Ticks of the generic timer.
    pub ticks: u64,
    /// Ticks per second.
    pub ticks_per_second: u64,
    /// Interrupts that core 0 took inside: anything but 0 voids the window.
    pub irqs: u32,
    /// What each core of the team counted.
    pub counts: [Counts; N_CORES],
}

impl Window {
    /// Length in nanoseconds.
    pub fn nanos(&self) -> u64 {
        let nanos = u128::from(self.ticks) * 1_000_000_000 / u128::from(self.ticks_per_second);
        nanos as u64
    }
}

/// Runs `work` as a measured window on `cores`.
pub fn measure(cores: &CorePool, work: &mut dyn FnMut()) -> Window {
    cpu::without_irqs(|| {
        let before = counts(cores);
        let (irqs, start) = (board::irqs_taken(), wait::ticks());
        work();
        let (end, irqs_after) = (wait::ticks(), board::irqs_taken());
        let after = counts(cores);
        Window {
            ticks: end - start,
            ticks_per_second: wait::ticks_per_second(),
            irqs: irqs_after.wrapping_sub(irqs),
            counts: core::array::from_fn(|core| after[core].since(before[core])),
        }
    })
}

/// The counters of every core of the team, each read by its owner.
fn counts(cores: &CorePool) -> [Counts; N_CORES] {
    let all = Mutex::new([Counts::default(); N_CORES]);
    cores.run(&|core| {
        let counts = pmu::read();
        all.lock()[core.id()] = counts;
    });
    all.into_inner()
}
