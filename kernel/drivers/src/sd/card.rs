//! A card on a host: initialisation, reads, retries.
//!
//! Nothing here knows a register.

mod error;
mod start;

use super::adma::DmaMap;
use super::host::{HostError, SdHost, Transfer};
use super::identity::Cid;
use super::protocol::{Addressing, BLOCK_BYTES, CardState, CardStatus, Command};
use super::retry::{Ladder, Rung, Step};

pub use error::{CardError, Failure};

/// Card clock of default-speed transfers.
pub const DEFAULT_SPEED_HZ: u32 = 25_000_000;
/// Card clock of high-speed transfers.
pub const HIGH_SPEED_HZ: u32 = 50_000_000;

/// Blocks per command: 4 MiB amortise a command's cost, and a failed one costs little to repeat.
const PIECE_BLOCKS: usize = 8192;

/// Initialisations of a card before it is given up.
const INIT_TRIES: usize = 3;
/// Between two of them.
const BOUNCE_US: u64 = 100_000;

/// From a failed transfer back to the transfer state.
const RECOVERY_LIMIT_US: u64 = 1_000_000;

/// What went wrong and was put right since the card was initialised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reads repeated.
    pub retries: u32,
    /// Of the failures: wrong CRC or end bit.
    pub crc_errors: u32,
    /// Of the failures: time-outs.
    pub timeouts: u32,
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
    n_blocks: u64,
    clock_hz: u32,
    four_lines: bool,
    high_speed: bool,
    counters: Counters,
}

impl<H: SdHost> SdCard<H> {
    /// As [`SdCard::init`], up to three times, after the first with the power taken away in between:
    /// contacts bounce when a card is pushed in, and a card that is wedged or at 1.8 V is silent.
    ///
    /// Gives the host back with the error, so that the caller can try again.
    pub fn init_patiently(mut host: H) -> Result<Self, (CardError, H)> {
        let mut tries = 1;
        loop {
            let (error, given_back) = match Self::init(host) {
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
        let mut card = Self {
            host,
            rca: 0,
            addressing: Addressing::Bytes,
            cid: Cid::parse(0),
            n_blocks: 0,
            clock_hz: 0,
            four_lines: false,
            high_speed: false,
            counters: Counters::default(),
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

    /// Reads `buf.len() / 512` blocks from block `first` on.
    ///
    /// # Panics
    /// If the length is not a whole number of blocks.
    pub fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), CardError> {
        assert!(buf.len().is_multiple_of(BLOCK_BYTES), "whole blocks only");
        let n = (buf.len() / BLOCK_BYTES) as u64;
        if first.checked_add(n).is_none_or(|end| end > self.n_blocks) {
            return Err(CardError::OutOfRange {
                block: first,
                n_blocks: self.n_blocks,
            });
        }
        let piece_bytes = self.host.max_blocks().min(PIECE_BLOCKS) * BLOCK_BYTES;
        let mut block = first;
        for piece in buf.chunks_mut(piece_bytes) {
            self.read_piece(block, piece)?;
            block += (piece.len() / BLOCK_BYTES) as u64;
        }
        Ok(())
    }

    /// Changes to DMA under the first of `maps` that brings in what PIO does; stays with PIO if none
    /// does.
    ///
    /// Compares the card's first blocks, as many as fit the two buffers; `by_dma` is one that the
    /// controller can fill. A wrong map costs a few seconds of time-outs.
    pub fn adopt_dma(
        &mut self,
        maps: &[DmaMap],
        by_pio: &mut [u8],
        by_dma: &mut [u8],
    ) -> Result<Option<DmaMap>, CardError> {
        self.host.use_pio();
        self.read_blocks(0, by_pio)?;
        for &map in maps {
            // Whatever the card holds, it is not the complement of what it holds.
            for (byte, seen) in by_dma.iter_mut().zip(&*by_pio) {
                *byte = !seen;
            }
            if !self.host.use_dma(map) || !self.host.is_direct(by_dma) {
                continue;
            }
            let read = self.read_once(0, by_dma);
            if read.is_ok() && by_dma == by_pio {
                return Ok(Some(map));
            }
            self.host.use_pio();
            self.recover()?;
        }
        self.host.use_pio();
        Ok(None)
    }

    /// One command's worth of blocks, with every retry.
    fn read_piece(&mut self, first: u64, piece: &mut [u8]) -> Result<(), CardError> {
        let mut ladder = Ladder::new(self.host.transfer());
        let mut done = 0;
        while done < piece.len() {
            let rest = &mut piece[done..];
            let len = match ladder.rung() {
                Rung::SingleBlocks => BLOCK_BYTES,
                _ => rest.len(),
            };
            let block = first + (done / BLOCK_BYTES) as u64;
            match self.read_once(block, &mut rest[..len]) {
                Ok(()) => {
                    ladder.succeeded();
                    done += len;
                }
                Err(cause) => self.after_failure(&mut ladder, block, cause)?,
            }
        }
        Ok(())
    }

    /// One read command without retries.
    fn read_once(&mut self, block: u64, buf: &mut [u8]) -> Result<(), Failure> {
        let address = self.addressing.argument(block);
        let address = address.expect("a block of the card has an address");
        let command = if buf.len() == BLOCK_BYTES {
            Command::read_single(address)
        } else {
            Command::read_multiple(address)
        };
        let response = self.host.read(command, BLOCK_BYTES, buf)?;
        let (status, stop) = (CardStatus(response.short), CardStatus(response.stop));
        if status.errors() != 0 {
            return Err(Failure::Card { status: status.0 });
        }
        // What goes wrong after the first block is reported here alone.
        if stop.stop_errors() != 0 {
            return Err(Failure::Card { status: stop.0 });
        }
        Ok(())
    }

    /// Counts the failure, brings host and card back, and changes what the ladder says to change.
    fn after_failure(
        &mut self,
        ladder: &mut Ladder,
        block: u64,
        mut cause: Failure,
    ) -> Result<(), CardError> {
        self.counters.count(&cause);
        loop {
            match ladder.failed() {
                Step::Again => {}
                Step::Climb(Rung::AsIs) => unreachable!("a ladder only climbs"),
                Step::Climb(Rung::Pio) => self.host.use_pio(),
                Step::Climb(Rung::HalfClock | Rung::SingleBlocks) => {
                    if self.clock_hz > DEFAULT_SPEED_HZ {
                        self.host.reset_lines()?;
                        self.clock_hz = self.host.set_clock_hz(DEFAULT_SPEED_HZ)?;
                    }
                }
                Step::GiveUp => return Err(CardError::Unreadable { block, cause }),
            }
            self.counters.retries += 1;
            match self.recover() {
                Ok(()) => return Ok(()),
                Err(error) => cause = error.into(),
            }
        }
    }

    /// After a failed transfer: lines reset, card back in the transfer state.
    fn recover(&mut self) -> Result<(), HostError> {
        let start = self.host.now_us();
        loop {
            self.host.reset_lines()?;
            let response = self.host.command(Command::send_status(self.rca))?;
            let status = CardStatus(response.short);
            if status.ready_for_transfer() {
                return Ok(());
            }
            if self.host.now_us().wrapping_sub(start) > RECOVERY_LIMIT_US {
                return Err(HostError::DataTimeout { index: 13 });
            }
            if status.state() == CardState::SendingData {
                // Still in a transfer that no CMD12 has ended. Its answer says nothing new: the next
                // CMD13 tells whether it worked.
                self.host.command(Command::stop_transmission()).ok();
            }
            self.host.wait_us(1000);
        }
    }
}

#[cfg(test)]
mod tests;
