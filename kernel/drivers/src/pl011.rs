//! The PL011 UART: the console.
//!
//! Received bytes are taken by interrupt into a ring, because the 32 bytes of the FIFO last 2.8 ms at
//! 115200 baud and the core may be busy for longer. Sending polls.
//!
//! **Resources**: Arm PL011 manual (DDI 0183), §3.3; docs/hardware.md UART-1 to UART-7.

pub mod registers;

use tock_registers::interfaces::{Readable, Writeable};

use self::registers::{CR, DR, FR, IFLS, IMSC, LCRH, Registers};
use crate::clock::Clock;
use crate::mmio::Mmio;
use crate::rx_ring::RxRing;

/// Clock of the UART unless the firmware was told otherwise (`init_uart_clock`).
pub const DEFAULT_CLOCK_HZ: u32 = 48_000_000;
/// A clock outside these is not believed: QEMU's mailbox says 3 MHz.
const BELIEVABLE_CLOCK_HZ: core::ops::RangeInclusive<u32> = 40_000_000..=60_000_000;
/// Longer than a full FIFO takes at 9600 baud.
const DRAIN_LIMIT_US: u64 = 100_000;

/// `reported_hz` if it can be true, else [`DEFAULT_CLOCK_HZ`].
pub fn believable_clock_hz(reported_hz: Option<u32>) -> u32 {
    reported_hz
        .filter(|hz| BELIEVABLE_CLOCK_HZ.contains(hz))
        .unwrap_or(DEFAULT_CLOCK_HZ)
}

/// What the two divisor registers get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisors {
    /// Whole part.
    pub integer: u32,
    /// 64ths.
    pub fraction: u32,
}

/// A baud rate that the clock cannot give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a baud rate of {baud} is not possible: choose 300 to {max_baud}")]
pub struct BadBaudRate {
    /// What was asked for.
    pub baud: u32,
    /// The fastest possible.
    pub max_baud: u32,
}

impl Divisors {
    /// The divisors for `baud` from `clock_hz`: clock / (16 · baud) in 64ths, rounded.
    ///
    /// 48 MHz at 115200: 26.0417, that is 26 and 3/64.
    ///
    /// # Errors
    /// Outside 300 to clock / 16.
    pub fn new(clock_hz: u32, baud: u32) -> Result<Self, BadBaudRate> {
        let max_baud = clock_hz / 16;
        if !(300..=max_baud).contains(&baud) {
            return Err(BadBaudRate { baud, max_baud });
        }
        let in_64ths = (u64::from(clock_hz) * 4 + u64::from(baud) / 2) / u64::from(baud);
        Ok(Self {
            integer: (in_64ths / 64) as u32,
            fraction: (in_64ths % 64) as u32,
        })
    }
}

/// The UART.
pub struct Pl011 {
    registers: Mmio<Registers>,
}

impl Pl011 {
    /// A UART on `registers`; nothing is touched until [`Pl011::init`].
    pub const fn new(registers: Mmio<Registers>) -> Self {
        Self { registers }
    }

    /// Eight data bits, no parity, one stop bit, FIFOs on, no interrupt.
    pub fn init(&mut self, divisors: Divisors, clock: &impl Clock) {
        self.registers.imsc.set(0);
        self.set_speed(divisors, clock);
    }

    /// Changes the baud rate; interrupts stay as they are.
    ///
    /// Waits for what is still being sent, by the firmware perhaps; the divisors take effect with the
    /// write to `LCR_H`, so that one comes last.
    pub fn set_speed(&mut self, divisors: Divisors, clock: &impl Clock) {
        self.flush(clock);
        let registers = &self.registers;
        registers.cr.set(0);
        registers.lcr_h.set(0);
        registers.icr.set(0x7FF);
        registers.ibrd.set(divisors.integer);
        registers.fbrd.set(divisors.fraction);
        registers.lcr_h.write(LCRH::WLEN::Eight + LCRH::FEN::SET);
        registers
            .cr
            .write(CR::UARTEN::SET + CR::TXE::SET + CR::RXE::SET);
    }

    /// Lets the receive interrupts through: a quarter of the FIFO, the rest after a pause, overruns.
    pub fn enable_rx_interrupts(&mut self) {
        self.registers.ifls.write(IFLS::RXIFLSEL::OneQuarter);
        self.registers
            .imsc
            .write(IMSC::RX::SET + IMSC::RT::SET + IMSC::OE::SET);
    }

    /// Moves what has been received into `ring` and clears the interrupt.
    pub fn receive(&mut self, ring: &RxRing) {
        // Cleared first: a byte that arrives after the last look raises it anew.
        self.registers.icr.set(0x7FF);
        while !self.registers.fr.is_set(FR::RXFE) {
            let received = self.registers.dr.extract();
            if received.is_set(DR::OE) {
                ring.count_overrun();
            }
            if received.any_matching_bits_set(DR::BE::SET + DR::PE::SET + DR::FE::SET) {
                ring.count_damaged();
            } else {
                ring.push(received.read(DR::DATA) as u8);
            }
        }
    }

    /// Sends one byte if there is room for it.
    pub fn try_write(&mut self, byte: u8) -> bool {
        let room = !self.registers.fr.is_set(FR::TXFF);
        if room {
            self.registers.dr.set(u32::from(byte));
        }
        room
    }

    /// Whether everything has left the wire.
    pub fn is_idle(&self) -> bool {
        !self.registers.fr.is_set(FR::BUSY)
    }

    /// Waits until everything has left the wire, but not for ever.
    pub fn flush(&self, clock: &impl Clock) {
        clock.wait_until(DRAIN_LIMIT_US, &mut || self.is_idle());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::fake::Ticking;
    use crate::mmio::fake;

    #[test]
    fn divisors_of_the_manual() {
        let divisors = |baud| {
            let Divisors { integer, fraction } = Divisors::new(48_000_000, baud).unwrap();
            (integer, fraction)
        };
        assert_eq!(divisors(115_200), (26, 3));
        assert_eq!(divisors(921_600), (3, 16));
        assert_eq!(divisors(1_500_000), (2, 0));
        assert_eq!(divisors(3_000_000), (1, 0));
        assert_eq!(
            Divisors::new(48_000_000, 4_000_000),
            Err(BadBaudRate {
                baud: 4_000_000,
                max_baud: 3_000_000
            })
        );
        assert!(Divisors::new(48_000_000, 0).is_err());
    }

    #[test]
    fn every_baud_rate_is_within_the_receivers_tolerance() {
        for baud in [9600, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600] {
            let divisors = Divisors::new(48_000_000, baud).unwrap();
            let in_64ths = 64 * divisors.integer + divisors.fraction;
            let real = 4.0 * 48e6 / f64::from(in_64ths);
            assert!((real / f64::from(baud) - 1.0).abs() < 0.01, "{baud}");
        }
    }

    #[test]
    fn an_emulators_clock_is_not_believed() {
        assert_eq!(believable_clock_hz(Some(3_000_000)), 48_000_000);
        assert_eq!(believable_clock_hz(None), 48_000_000);
        assert_eq!(believable_clock_hz(Some(58_000_000)), 58_000_000);
    }

    #[test]
    fn initialisation_writes_these_values() {
        let (words, registers) = fake::block();
        let mut uart = Pl011::new(registers);
        uart.init(
            Divisors::new(48_000_000, 115_200).unwrap(),
            &Ticking::default(),
        );
        assert_eq!(words.get(0x24), 26, "IBRD");
        assert_eq!(words.get(0x28), 3, "FBRD");
        assert_eq!(words.get(0x2c), 0x70, "LCR_H: 8N1, FIFOs");
        assert_eq!(words.get(0x30), 0x301, "CR: on, both directions");
        assert_eq!(words.get(0x44), 0x7FF, "ICR");
        assert_eq!(words.get(0x38), 0, "IMSC: no interrupt yet");
        uart.enable_rx_interrupts();
        assert_eq!(words.get(0x34), 0b001 << 3, "IFLS");
        assert_eq!(words.get(0x38), 1 << 4 | 1 << 6 | 1 << 10, "IMSC");
        uart.set_speed(
            Divisors::new(48_000_000, 921_600).unwrap(),
            &Ticking::default(),
        );
        assert_eq!((words.get(0x24), words.get(0x28)), (3, 16));
        assert_eq!(words.get(0x30), 0x301, "CR: on again");
        assert_eq!(words.get(0x38), 1 << 4 | 1 << 6 | 1 << 10, "IMSC stays");
    }

    #[test]
    fn a_full_fifo_takes_nothing() {
        let (words, registers) = fake::block();
        let mut uart = Pl011::new(registers);
        words.set(0x18, 1 << 5);
        assert!(!uart.try_write(b'x'));
        assert_eq!(words.get(0), 0);
        words.set(0x18, 0);
        assert!(uart.try_write(b'x'));
        assert_eq!(words.get(0), u32::from(b'x'));
    }

    #[test]
    fn a_wedged_transmitter_does_not_hold_up_the_start() {
        let (words, registers) = fake::block();
        words.set(0x18, 1 << 3);
        let mut uart = Pl011::new(registers);
        uart.init(
            Divisors::new(48_000_000, 115_200).unwrap(),
            &Ticking::default(),
        );
        assert_eq!(words.get(0x30), 0x301);
    }
}
