//! The power-management block: reset and the watchdog.
//!
//! **Resources**: docs/hardware.md PM-1; Linux `bcm2835_wdt.c` for the meaning of the bits.

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::register_structs;
use tock_registers::registers::ReadWrite;

use crate::mmio::Mmio;

register_structs! {
    /// The register block.
    #[allow(missing_docs)]
    pub Registers {
        (0x00 => _reserved1),
        (0x1c => pub rstc: ReadWrite<u32>),
        (0x20 => pub rsts: ReadWrite<u32>),
        (0x24 => pub wdog: ReadWrite<u32>),
        (0x28 => @END),
    }
}

/// Every write carries it; others are ignored.
const PASSWORD: u32 = 0x5A00_0000;
/// What happens when the watchdog runs out: a full reset.
const WRCFG_FULL_RESET: u32 = 0x20;
const WRCFG_CLEAR: u32 = 0xFFFF_FFCF;
/// `RSTC` with the watchdog stopped.
const RSTC_STOPPED: u32 = 0x102;
/// Ticks are 1/65536 s.
const TICKS_PER_SECOND: u64 = 65_536;
/// 20 bits of ticks: 15.99 s.
pub const MAX_TICKS: u32 = 0xF_FFFF;
/// About 150 µs: soon, but after the write has left.
const RESET_TICKS: u32 = 10;

/// The block.
pub struct Watchdog {
    registers: Mmio<Registers>,
}

impl Watchdog {
    /// The block behind `registers`.
    pub const fn new(registers: Mmio<Registers>) -> Self {
        Self { registers }
    }

    /// Resets the board unless called again within `ms` (at most 15 999).
    pub fn start(&mut self, ms: u32) {
        let ticks = u64::from(ms) * TICKS_PER_SECOND / 1000;
        self.arm(u32::try_from(ticks).map_or(MAX_TICKS, |ticks| ticks.clamp(1, MAX_TICKS)));
    }

    /// Lets nothing happen any more.
    pub fn stop(&mut self) {
        self.registers.rstc.set(PASSWORD | RSTC_STOPPED);
    }

    /// Resets the board, within a millisecond.
    pub fn reset(&mut self) {
        self.arm(RESET_TICKS);
    }

    fn arm(&mut self, ticks: u32) {
        self.registers.wdog.set(PASSWORD | ticks);
        let rstc = self.registers.rstc.get() & WRCFG_CLEAR;
        self.registers.rstc.set(PASSWORD | rstc | WRCFG_FULL_RESET);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mmio::fake;

    #[test]
    fn a_reset_writes_these_values() {
        let (words, registers) = fake::block();
        words.set(0x1c, 0x112);
        Watchdog::new(registers).reset();
        assert_eq!(words.get(0x24), 0x5A00_000A, "WDOG");
        assert_eq!(words.get(0x1c), 0x5A00_0122, "RSTC");
        assert_eq!(words.get(0x20), 0, "RSTS");
    }

    #[test]
    fn times_are_in_65536ths_and_limited() {
        let (words, registers) = fake::block();
        let mut watchdog = Watchdog::new(registers);
        watchdog.start(15_000);
        assert_eq!(words.get(0x24), 0x5A00_0000 | 983_040);
        assert_eq!(words.get(0x1c), 0x5A00_0020, "RSTC");
        watchdog.start(3_600_000);
        assert_eq!(words.get(0x24), 0x5A0F_FFFF);
        watchdog.stop();
        assert_eq!(words.get(0x1c), 0x5A00_0102);
    }
}
