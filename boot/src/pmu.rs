//! The performance counters of one core.
//!
//! Cycles count at the core's own clock, so that cycles over the 54 MHz counter is the only honest
//! clock measurement (the mailbox echoes requests). QEMU counts virtual nanoseconds, knows
//! instructions with `-icount` only, and nothing else.
//!
//! **Resources**: Arm Architecture Reference Manual, D11; Cortex-A72 manual (100095), §11.8 (events);
//! docs/hardware.md PMU-1.

/// What the event counters 0 to 3 count, by event number.
pub const EVENTS: [u32; 4] = [
    0x08, // INST_RETIRED
    0x03, // L1D_CACHE_REFILL
    0x17, // L2D_CACHE_REFILL
    0x13, // MEM_ACCESS
];

/// `PMCR_EL0`: all counters on (`E`), reset (`P`, `C`), 64-bit cycle counter (`LC`), every cycle.
pub const PMCR_START: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 6;

/// `PMCNTENSET_EL0`: the cycle counter and the four event counters.
pub const PMCNTENSET: u64 = 1 << 31 | 0b1111;

/// The counters at one moment, or what they counted between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cycles of the core's clock. They stop in `wfi` and `wfe`.
    pub cycles: u64,
    /// Instructions retired, modulo 2³².
    pub instructions: u32,
    /// Lines brought into the L1 data cache, modulo 2³².
    pub l1d_refills: u32,
    /// Lines brought into the shared L2 cache, modulo 2³².
    pub l2_refills: u32,
    /// Loads and stores, modulo 2³².
    pub memory_accesses: u32,
}

impl Counts {
    /// What was counted since `before`.
    pub const fn since(self, before: Counts) -> Counts {
        Counts {
            cycles: self.cycles.wrapping_sub(before.cycles),
            instructions: self.instructions.wrapping_sub(before.instructions),
            l1d_refills: self.l1d_refills.wrapping_sub(before.l1d_refills),
            l2_refills: self.l2_refills.wrapping_sub(before.l2_refills),
            memory_accesses: self.memory_accesses.wrapping_sub(before.memory_accesses),
        }
    }
}

#[cfg(target_os = "none")]
pub use target::{read, start};

#[cfg(target_os = "none")]
mod target {
    use core::arch::asm;

    use super::{Counts, EVENTS, PMCNTENSET, PMCR_START};

    /// Starts the counters of this core from zero.
    pub fn start() {
        let [event0, event1, event2, event3] = EVENTS.map(u64::from);
        // SAFETY: counter registers only; `start.s` has made them accessible at EL1.
        unsafe {
            asm!(
                "msr pmevtyper0_el0, {event0}",
                "msr pmevtyper1_el0, {event1}",
                "msr pmevtyper2_el0, {event2}",
                "msr pmevtyper3_el0, {event3}",
                "msr pmccfiltr_el0, xzr",
                "msr pmcntenset_el0, {enable}",
                "msr pmcr_el0, {start}",
                "isb",
                event0 = in(reg) event0,
                event1 = in(reg) event1,
                event2 = in(reg) event2,
                event3 = in(reg) event3,
                enable = in(reg) PMCNTENSET,
                start = in(reg) PMCR_START,
                options(nostack),
            );
        }
    }

    /// The counters of this core now.
    pub fn read() -> Counts {
        let (cycles, event0, event1, event2, event3): (u64, u64, u64, u64, u64);
        // SAFETY: reads counters. The barrier keeps them from being read ahead of what is measured.
        unsafe {
            asm!(
                "isb",
                "mrs {cycles}, pmccntr_el0",
                "mrs {event0}, pmevcntr0_el0",
                "mrs {event1}, pmevcntr1_el0",
                "mrs {event2}, pmevcntr2_el0",
                "mrs {event3}, pmevcntr3_el0",
                cycles = out(reg) cycles,
                event0 = out(reg) event0,
                event1 = out(reg) event1,
                event2 = out(reg) event2,
                event3 = out(reg) event3,
                options(nostack),
            );
        }
        Counts {
            cycles,
            instructions: event0 as u32,
            l1d_refills: event1 as u32,
            l2_refills: event2 as u32,
            memory_accesses: event3 as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_survive_a_wrap() {
        let before = Counts {
            cycles: 100,
            instructions: u32::MAX - 1,
            ..Counts::default()
        };
        let after = Counts {
            cycles: 350,
            instructions: 8,
            ..Counts::default()
        };
        let counted = after.since(before);
        assert_eq!((counted.cycles, counted.instructions), (250, 10));
    }

    #[test]
    fn register_values() {
        assert_eq!(PMCR_START, 0x47);
        assert_eq!(PMCNTENSET, 0x8000_000F);
    }
}
