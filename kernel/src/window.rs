//! A measured window: nothing else happens in it, and what happened in it is counted.
//!
//! Interrupts of core 0 are masked (the other cores take none), so that no byte of the UART moves;
//! whoever measures must not print, allocate or ask the mailbox either. The number of interrupts is
//! reported rather than assumed: a window with any is void.

use boot::layout::N_CORES;
use boot::pmu::{self, Counts};
use boot::{cpu, wait};
use parallel::Cores;
use session::machine::{CoreCounts, MAX_CORES, Window};
use spin::Mutex;

use crate::board;
use crate::core_pool::CorePool;

const _: () = assert!(MAX_CORES == N_CORES);

/// Runs `work` as a measured window on `cores`.
pub fn measure(cores: &CorePool, work: &mut dyn FnMut()) -> Window {
    cpu::without_irqs(|| {
        let before = counts(cores);
        let (irqs, start) = (board::irqs_taken(), wait::ticks());
        work();
        let (end, irqs_after) = (wait::ticks(), board::irqs_taken());
        let after = counts(cores);
        let nanos = u128::from(end - start) * 1_000_000_000 / u128::from(wait::ticks_per_second());
        Window {
            nanos: nanos as u64,
            irqs: irqs_after.wrapping_sub(irqs),
            cores: Some(core::array::from_fn(|core| {
                let counted = after[core].since(before[core]);
                CoreCounts {
                    cycles: counted.cycles,
                    instructions: counted.instructions,
                    l1d_refills: counted.l1d_refills,
                    l2_refills: counted.l2_refills,
                    memory_accesses: counted.memory_accesses,
                }
            })),
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
