//! The PL011 UART: the console.
//!
//! Received bytes are taken by interrupt into a ring, because the 32 bytes of the FIFO last 2.8 ms at
//! 115200 baud and the core may be busy for longer. Sent bytes wait in a ring, from which an interrupt fills the FIFO.
//!
//! **Resources**: Arm PL011 manual (DDI 0183), §3.3; docs/hardware.md UART-1 to UART-7.

mod clock;
pub mod registers;

pub use self::clock::{DEFAULT_CLOCK_HZ, believable_clock_hz, start_clock};

use tock_registers::interfaces::{ReadWriteable, Readable, Writeable};

use self::registers::{CR, DR, FR, IFLS, IMSC, LCRH, Registers};
use crate::byte_ring::ByteRing;
use crate::clock::Clock;
use crate::mmio::Mmio;
use crate::rx_ring::RxRing;

/// Longer than a full FIFO takes at 9600 baud.
pub const DRAIN_LIMIT_US: u64 = 100_000;
/// Depth of the FIFOs: no more is sent at once, so that received bytes do not wait.
const FIFO_BYTES: usize = 32;
/// All interrupts but the transmitter's, which lasts until the FIFO is filled.
const RECEIVE_INTERRUPTS: u32 = 0x7FF & !(1 << 5);
/// Longer than a byte takes at the slowest rate: a UART that takes none for so long takes no more.
const SEND_LIMIT_US: u64 = 100_000;
/// Most bytes taken at once: more than any line and what may wait behind it, because bytes that are left in the
/// FIFO raise no interrupt. A block without a clock never says that it is empty.
const RECEIVE_LIMIT: usize = 1 << 20;

/// Sends by `try_send`, which says whether there was room; whether it was sent.
///
/// A transmitter that takes nothing for 100 ms is stuck, and so is what is sent to it: the next byte
/// (`was_stuck`) gets one try and no wait, until there is room again.
pub fn send(was_stuck: bool, clock: &impl Clock, try_send: &mut dyn FnMut() -> bool) -> bool {
    if was_stuck {
        try_send()
    } else {
        clock.wait_until(SEND_LIMIT_US, try_send)
    }
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
    /// The highest speed that `clock_hz` gives.
    pub fn max_baud(clock_hz: u32) -> u32 {
        clock_hz / 16
    }

    /// The divisors for `baud` from `clock_hz`: clock / (16 · baud) in 64ths, rounded.
    ///
    /// 48 MHz at 115200: 26.0417, that is 26 and 3/64.
    ///
    /// # Errors
    /// Outside 300 to clock / 16.
    pub fn new(clock_hz: u32, baud: u32) -> Result<Self, BadBaudRate> {
        let max_baud = Self::max_baud(clock_hz);
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
        self.registers
            .ifls
            .write(IFLS::RXIFLSEL::OneQuarter + IFLS::TXIFLSEL::OneEighth);
        self.registers
            .imsc
            .write(IMSC::RX::SET + IMSC::RT::SET + IMSC::OE::SET);
    }

    /// Moves what has been received into `ring` and clears the interrupt.
    pub fn receive<const N: usize>(&mut self, ring: &RxRing<N>) {
        // Cleared first: a byte that arrives after the last look raises it anew.
        self.registers.icr.set(RECEIVE_INTERRUPTS);
        for _ in 0..RECEIVE_LIMIT {
            if self.registers.fr.is_set(FR::RXFE) {
                return;
            }
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

    /// Fills the FIFO from `ring`. What is left is due at the interrupt, if `by_interrupt` lets it through: it comes
    /// when little is left in a FIFO that was full, and stays until it is filled again.
    pub fn transmit<const N: usize>(&mut self, ring: &ByteRing<N>, by_interrupt: bool) {
        for _ in 0..FIFO_BYTES {
            if self.registers.fr.is_set(FR::TXFF) {
                break;
            }
            let Some(byte) = ring.pop() else { break };
            self.registers.dr.set(u32::from(byte));
        }
        self.let_transmit_interrupt(by_interrupt && !ring.is_empty());
    }

    /// Lets the transmit interrupt through, or no longer.
    pub fn let_transmit_interrupt(&mut self, through: bool) {
        let imsc = &self.registers.imsc;
        match through {
            true => imsc.modify(IMSC::TX::SET),
            false => imsc.modify(IMSC::TX::CLEAR),
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
mod tests;
