//! A card on a host: initialisation, reads, retries.
//!
//! Nothing here knows a register.

mod dma;
mod error;
mod measure;
mod modes;
mod reads;
mod report;
mod start;

use core::ops::{Add, Sub};

use super::host::{HostError, SdHost, Transfer};
use super::identity::Cid;
use super::protocol::Addressing;

pub use error::{CardError, Failure};
pub use measure::{Measured, Reading};
pub use modes::Modes;
pub use report::{PioReason, Registers};

/// Card clock of default-speed transfers.
pub const DEFAULT_SPEED_HZ: u32 = 25_000_000;
/// Card clock of high-speed transfers.
pub const HIGH_SPEED_HZ: u32 = 50_000_000;

/// Initialisations of a card before it is given up.
const INIT_TRIES: usize = 3;
/// Between two of them.
const BOUNCE_US: u64 = 100_000;

/// What went wrong and was put right since the card was initialised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reads repeated.
    pub retries: u32,
    /// Of the failures: wrong CRC or end bit.
    pub crc_errors: u32,
    /// Of the failures: time-outs.
    pub timeouts: u32,
    /// Blocks that DMA brought in wrongly without an error.
    pub mismatches: u32,
}

impl Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            retries: self.retries + other.retries,
            crc_errors: self.crc_errors + other.crc_errors,
            timeouts: self.timeouts + other.timeouts,
            mismatches: self.mismatches + other.mismatches,
        }
    }
}

impl Sub for Counters {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            retries: self.retries - earlier.retries,
            crc_errors: self.crc_errors - earlier.crc_errors,
            timeouts: self.timeouts - earlier.timeouts,
            mismatches: self.mismatches - earlier.mismatches,
        }
    }
}

impl Counters {
    fn count(&mut self, failure: &Failure) {
        match failure {
            Failure::Host(HostError::CommandTimeout { .. } | HostError::DataTimeout { .. }) => {
                self.timeouts += 1
            }
            Failure::Host(HostError::CommandCorrupt { .. } | HostError::DataCorrupt { .. }) => {
                self.crc_errors += 1
            }
            _ => {}
        }
    }
}

/// An initialised card.
#[derive(Debug)]
pub struct SdCard<H> {
    host: H,
    rca: u16,
    addressing: Addressing,
    cid: Cid,
    registers: Registers,
    n_blocks: u64,
    clock_hz: u32,
    four_lines: bool,
    high_speed: bool,
    counters: Counters,
    modes: Modes,
    /// Why there is no DMA, while there is none.
    pio_reason: PioReason,
    /// State of the generator that chooses which blocks are read twice.
    seed: u64,
}

impl<H: SdHost> SdCard<H> {
    /// As [`SdCard::init`], up to three times, after the first with the power taken away in between:
    /// contacts bounce when a card is pushed in, and a card that is wedged or at 1.8 V is silent.
    ///
    /// Gives the host back with the error, so that the caller can try again.
    pub fn init_patiently(mut host: H, modes: Modes) -> Result<Self, (CardError, H)> {
        let mut tries = 1;
        loop {
            let (error, given_back) = match Self::init_in(host, modes) {
                Ok(card) => return Ok(card),
                Err(failed) => failed,
            };
            host = given_back;
            if tries == INIT_TRIES {
                return Err((error, host));
            }
            tries += 1;
            host.wait_us(BOUNCE_US);
            host.cycle_power();
        }
    }

    /// Powers up, identifies and selects the card, and sets the fastest 3.3 V mode both sides have.
    ///
    /// Gives the host back with the error, so that the caller can try again.
    pub fn init(host: H) -> Result<Self, (CardError, H)> {
        Self::init_in(host, Modes::default())
    }

    /// As [`SdCard::init`], with nothing that `modes` leaves out.
    pub fn init_in(host: H, modes: Modes) -> Result<Self, (CardError, H)> {
        let mut card = Self {
            host,
            rca: 0,
            addressing: Addressing::Bytes,
            cid: Cid::parse(0),
            registers: Registers::default(),
            n_blocks: 0,
            clock_hz: 0,
            four_lines: false,
            high_speed: false,
            counters: Counters::default(),
            modes,
            pio_reason: PioReason::default(),
            seed: 0,
        };
        match card.identify().and_then(|csd| card.speed_up(&csd)) {
            Ok(()) => Ok(card),
            Err(error) => Err((error, card.host)),
        }
    }

    /// The controller, for a card that is given up.
    pub fn release(self) -> H {
        self.host
    }

    /// Blocks of 512 bytes on the card.
    pub fn n_blocks(&self) -> u64 {
        self.n_blocks
    }

    /// The card's identification.
    pub fn cid(&self) -> &Cid {
        &self.cid
    }

    /// Bytes or blocks.
    pub fn addressing(&self) -> Addressing {
        self.addressing
    }

    /// The card clock in force.
    pub fn clock_hz(&self) -> u32 {
        self.clock_hz
    }

    /// 1 or 4.
    pub fn n_data_lines(&self) -> u8 {
        if self.four_lines { 4 } else { 1 }
    }

    /// Whether the card was switched to high speed.
    pub fn high_speed(&self) -> bool {
        self.high_speed
    }

    /// How data travels.
    pub fn transfer(&self) -> Transfer {
        self.host.transfer()
    }

    /// Whether reading into `buf` takes no detour; see [`SdHost::is_direct`].
    pub fn is_direct(&self, buf: &[u8]) -> bool {
        self.host.is_direct(buf)
    }

    /// The controller.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// What was retried.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
