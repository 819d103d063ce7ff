//! The GIC-400 interrupt controller, seen from the non-secure side.
//!
//! **Resources**: GIC architecture 2.0 (IHI 0048), §4; docs/hardware.md GIC-1. The firmware's stub has put
//! all interrupts into group 1; grouping registers are out of reach from here.

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::register_structs;
use tock_registers::registers::{ReadOnly, ReadWrite, WriteOnly};

use crate::mmio::Mmio;

/// Interrupts the BCM2711's controller has; registers of more are not in the block above.
const MAX_INTERRUPTS: usize = 256;
/// Numbers from here on are no interrupts but "nothing pending".
const SPURIOUS: u32 = 1020;
/// Every shared interrupt goes to core 0.
const TO_CORE_0: u32 = 0x0101_0101;
/// The middle of the non-secure half, for all alike.
const PRIORITY: u32 = 0xA0A0_A0A0;
/// Lets all priorities through that are of use to us.
const PRIORITY_MASK: u32 = 0xF0;

register_structs! {
    /// The distributor: which interrupts exist, and for whom.
    #[allow(missing_docs)]
    pub Distributor {
        (0x000 => pub ctlr: ReadWrite<u32>),
        (0x004 => pub typer: ReadOnly<u32>),
        (0x008 => _reserved1),
        (0x100 => pub isenabler: [ReadWrite<u32>; 8]),
        (0x120 => _reserved2),
        (0x180 => pub icenabler: [ReadWrite<u32>; 8]),
        (0x1a0 => _reserved3),
        (0x280 => pub icpendr: [ReadWrite<u32>; 8]),
        (0x2a0 => _reserved4),
        (0x380 => pub icactiver: [ReadWrite<u32>; 8]),
        (0x3a0 => _reserved8),
        (0x400 => pub ipriorityr: [ReadWrite<u32>; 64]),
        (0x500 => _reserved5),
        (0x800 => pub itargetsr: [ReadWrite<u32>; 64]),
        (0x900 => _reserved6),
        (0xc00 => pub icfgr: [ReadWrite<u32>; 16]),
        (0xc40 => _reserved7),
        (0xf00 => pub sgir: WriteOnly<u32>),
        (0xf04 => @END),
    }
}

register_structs! {
    /// One core's view.
    #[allow(missing_docs)]
    pub CpuInterface {
        (0x00 => pub ctlr: ReadWrite<u32>),
        (0x04 => pub pmr: ReadWrite<u32>),
        (0x08 => _reserved1),
        (0x0c => pub iar: ReadOnly<u32>),
        (0x10 => pub eoir: WriteOnly<u32>),
        (0x14 => @END),
    }
}

/// Interrupt with which one core ends another's sleep: SGI 0.
pub const WAKE: u32 = 0;

/// Interrupt of the PL011s: SPI 121, the OR of UARTs 0 and 2 to 5 (`PACTL_CS` tells which). The others
/// stay off: one that an overlay starts, unmasked, would raise it without an end.
pub const UART: u32 = 32 + 121;

/// An interrupt that has been taken; it is over when given back.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an interrupt that is not ended blocks all others"]
pub struct Taken(u32);

impl Taken {
    /// Its number.
    pub fn id(&self) -> u32 {
        self.0 & 0x3FF
    }
}

/// The controller as one core sees it: what concerns interrupts 0 to 31, and the interface, each core
/// has for itself at the same addresses.
pub struct Gic {
    distributor: Mmio<Distributor>,
    cpu: Mmio<CpuInterface>,
}

impl Gic {
    /// A controller behind two blocks.
    pub const fn new(distributor: Mmio<Distributor>, cpu: Mmio<CpuInterface>) -> Self {
        Self { distributor, cpu }
    }

    /// Everything off and cleared, then controller and this core's interface on.
    pub fn init(&mut self) {
        let distributor = &self.distributor;
        distributor.ctlr.set(0);
        // ITLinesNumber: registers of interrupts that do not exist are not there either
        let lines = (distributor.typer.get() & 0x1F) as usize;
        let n_interrupts = (32 * (lines + 1)).min(MAX_INTERRUPTS);
        for register in 0..n_interrupts / 32 {
            distributor.icenabler[register].set(!0);
            distributor.icpendr[register].set(!0);
            // one that was left active would never come again
            distributor.icactiver[register].set(!0);
        }
        for register in 0..n_interrupts / 4 {
            distributor.ipriorityr[register].set(PRIORITY);
        }
        // the first 32 belong to each core by itself
        for register in 8..n_interrupts / 4 {
            distributor.itargetsr[register].set(TO_CORE_0);
        }
        for register in 2..n_interrupts / 16 {
            // all level-sensitive
            distributor.icfgr[register].set(0);
        }
        distributor.ctlr.set(1);
        self.cpu.pmr.set(PRIORITY_MASK);
        self.cpu.ctlr.set(1);
    }

    /// What another core than 0 does for itself: lets [`WAKE`] reach it, and nothing else.
    pub fn init_for_wake(&mut self) {
        for register in 0..8 {
            self.distributor.ipriorityr[register].set(PRIORITY);
        }
        self.enable(WAKE);
        self.cpu.pmr.set(PRIORITY_MASK);
        self.cpu.ctlr.set(1);
    }

    /// Sends [`WAKE`] to `core`.
    pub fn wake(&mut self, core: usize) {
        // target list in 23:16, interrupt in 3:0
        self.distributor.sgir.set(1 << (16 + core) | WAKE);
    }

    /// Sends [`WAKE`] to the core that calls: to see whether interrupts arrive at all.
    pub fn wake_self(&mut self) {
        // target list filter 0b10 in 25:24: the requesting core only
        self.distributor.sgir.set(0b10 << 24 | WAKE);
    }

    /// Takes this core's interface off the controller again: nothing arrives any more.
    pub fn disconnect(&mut self) {
        self.cpu.ctlr.set(0);
    }

    /// Lets interrupt `id` through to core 0.
    pub fn enable(&mut self, id: u32) {
        self.distributor.isenabler[id as usize / 32].set(1 << (id % 32));
    }

    /// Keeps interrupt `id` away.
    pub fn disable(&mut self, id: u32) {
        self.distributor.icenabler[id as usize / 32].set(1 << (id % 32));
    }

    /// The interrupt that is pending, if one still is.
    pub fn take(&mut self) -> Option<Taken> {
        let taken = Taken(self.cpu.iar.get());
        (taken.id() < SPURIOUS).then_some(taken)
    }

    /// Says that `taken` has been dealt with.
    pub fn end(&mut self, taken: Taken) {
        // the whole word: it names the sending core for interrupts between cores
        self.cpu.eoir.set(taken.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mmio::fake;

    #[test]
    fn initialisation_writes_these_values() {
        let (distributor_words, distributor) = fake::block();
        let (cpu_words, cpu) = fake::block();
        distributor_words.set(0x004, 0x0000_FC67);
        for register in [0xC04, 0xC08, 0xC24, 0xC3C] {
            distributor_words.set(register, !0);
        }
        let mut gic = Gic::new(distributor, cpu);
        gic.init();
        assert_eq!(distributor_words.get(0x000), 1, "GICD_CTLR");
        assert_eq!(distributor_words.get(0x180), !0, "GICD_ICENABLER0");
        assert_eq!(distributor_words.get(0x290), !0, "GICD_ICPENDR4");
        assert_eq!(distributor_words.get(0x390), !0, "GICD_ICACTIVER4");
        assert_eq!(distributor_words.get(0x41c), 0xA0A0_A0A0);
        assert_eq!(distributor_words.get(0x81c), 0, "banked targets stay");
        assert_eq!(distributor_words.get(0x820), 0x0101_0101);
        assert_eq!(distributor_words.get(0x8fc), 0x0101_0101);
        assert_eq!(distributor_words.get(0xC04), !0, "the cores' own stay");
        for register in [0xC08, 0xC24, 0xC3C] {
            assert_eq!(distributor_words.get(register), 0, "GICD_ICFGR");
        }
        assert_eq!(cpu_words.get(0x04), 0xF0, "GICC_PMR");
        assert_eq!(cpu_words.get(0x00), 1, "GICC_CTLR");
        gic.enable(UART);
        assert_eq!(UART, 153);
        assert_eq!(distributor_words.get(0x110), 1 << 25, "GICD_ISENABLER4");
        gic.disable(UART);
        assert_eq!(distributor_words.get(0x190), 1 << 25, "GICD_ICENABLER4");
        gic.wake_self();
        assert_eq!(distributor_words.get(0xf00), 0x0200_0000, "GICD_SGIR");
        gic.disconnect();
        assert_eq!(cpu_words.get(0x00), 0, "GICC_CTLR");
    }

    #[test]
    fn registers_of_interrupts_that_do_not_exist_are_left_alone() {
        let (distributor_words, distributor) = fake::block();
        let (_, cpu) = fake::block();
        distributor_words.set(0x004, 6);
        Gic::new(distributor, cpu).init();
        assert_eq!(distributor_words.get(0x198), !0, "GICD_ICENABLER6");
        assert_eq!(distributor_words.get(0x19C), 0, "GICD_ICENABLER7");
        assert_eq!(distributor_words.get(0x4DC), 0xA0A0_A0A0);
        assert_eq!(distributor_words.get(0x4E0), 0);
    }

    #[test]
    fn a_core_is_woken_by_an_interrupt_of_its_own() {
        let (distributor_words, distributor) = fake::block();
        let (cpu_words, cpu) = fake::block();
        let mut gic = Gic::new(distributor, cpu);
        gic.init_for_wake();
        assert_eq!(distributor_words.get(0x100), 1, "GICD_ISENABLER0");
        assert_eq!(distributor_words.get(0x400), 0xA0A0_A0A0);
        assert_eq!(distributor_words.get(0x000), 0, "GICD_CTLR is core 0's");
        assert_eq!(cpu_words.get(0x04), 0xF0, "GICC_PMR");
        assert_eq!(cpu_words.get(0x00), 1, "GICC_CTLR");
        gic.wake(3);
        assert_eq!(distributor_words.get(0xf00), 1 << 19, "GICD_SGIR");
    }

    #[test]
    fn an_interrupt_is_ended_with_the_word_it_was_taken_with() {
        let (_, distributor) = fake::block();
        let (words, cpu) = fake::block();
        let mut gic = Gic::new(distributor, cpu);
        words.set(0x0c, 2 << 10 | 5);
        let taken = gic.take().unwrap();
        assert_eq!(taken.id(), 5);
        gic.end(taken);
        assert_eq!(words.get(0x10), 2 << 10 | 5);
        words.set(0x0c, 1023);
        assert_eq!(gic.take(), None);
    }
}
