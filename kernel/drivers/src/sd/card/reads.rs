//! Reads with their retries.

use super::{CardError, DEFAULT_SPEED_HZ, Failure, PioReason, SdCard};
use crate::sd::host::{HostError, Notice, SdHost, Transfer};
use crate::sd::protocol::{BLOCK_BYTES, CardState, CardStatus, Command};
use crate::sd::retry::{Ladder, Rung, Step};

/// Blocks per command: 4 MiB amortise a command's cost, and a failed one costs little to repeat.
pub(super) const PIECE_BLOCKS: usize = 8192;
/// Less by one data line or by the data port, so that no attempt is silent for longer than [`SILENCE_LIMIT_US`].
pub(super) const NARROW_PIECE_BLOCKS: usize = PIECE_BLOCKS / 4;

/// From a failed transfer back to the transfer state.
const RECOVERY_LIMIT_US: u64 = 1_000_000;
/// After this long no new attempt at a piece begins.
const PIECE_LIMIT_US: u64 = 8_000_000;
/// After this long somebody at the console is told.
const SILENCE_LIMIT_US: u64 = 2_000_000;

/// Of what comes in by DMA, one block in so many is read again by the data port.
const SAMPLED_BLOCKS: usize = 4096;
/// Shorter reads are tables and directories: read in small pieces, and checked by their structure.
const UNSAMPLED_BLOCKS: usize = 32;

/// How blocks are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As the host is set.
    AsSet,
    /// By the data port, whatever the host is set to.
    Port,
}

/// One piece's retries.
struct Attempts {
    ladder: Ladder,
    start_us: u64,
    is_told: bool,
    is_restarted: bool,
}

impl<H: SdHost> SdCard<H> {
    /// Reads `buf.len() / 512` blocks from block `first` on.
    ///
    /// # Panics
    /// If the length is not a whole number of blocks.
    pub fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), CardError> {
        self.read_by(Way::AsSet, first, buf)
    }

    /// As [`SdCard::read_blocks`], by the data port.
    pub(super) fn read_blocks_by_port(
        &mut self,
        first: u64,
        buf: &mut [u8],
    ) -> Result<(), CardError> {
        self.read_by(Way::Port, first, buf)
    }

    fn read_by(&mut self, way: Way, first: u64, buf: &mut [u8]) -> Result<(), CardError> {
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
            self.read_piece(way, block, piece)?;
            block += (piece.len() / BLOCK_BYTES) as u64;
        }
        Ok(())
    }

    /// One command's worth of blocks, with every retry.
    fn read_piece(&mut self, way: Way, first: u64, piece: &mut [u8]) -> Result<(), CardError> {
        let transfer = match way {
            Way::AsSet => self.host.transfer(),
            Way::Port => Transfer::Pio,
        };
        let mut attempts = Attempts {
            ladder: Ladder::new(transfer),
            start_us: self.host.now_us(),
            is_told: false,
            is_restarted: false,
        };
        let mut done = 0;
        while done < piece.len() {
            let rest = &mut piece[done..];
            let len = match attempts.ladder.rung() {
                Rung::SingleBlocks => BLOCK_BYTES,
                _ => rest.len().min(self.command_bytes(way)),
            };
            let block = first + (done / BLOCK_BYTES) as u64;
            let read = self.read_once(way, block, &mut rest[..len]);
            match read.and_then(|()| self.compare_samples(way, block, &rest[..len])) {
                Ok(()) => {
                    attempts.ladder.succeeded();
                    done += len;
                }
                // Proof of what other reads have not shown: none of what came in by DMA stands.
                Err(Failure::Mismatch { block }) => {
                    self.counters.mismatches += 1;
                    self.give_up_dma(PioReason::WrongBytes);
                    return Err(CardError::WrongByDma { block });
                }
                Err(failure) => self.after_failure(&mut attempts, block, failure)?,
            }
        }
        Ok(())
    }

    /// Bytes of one command: fewer where it takes longer.
    fn command_bytes(&self, way: Way) -> usize {
        let is_by_dma = way == Way::AsSet && self.host.transfer() == Transfer::Adma2;
        let n_blocks = if is_by_dma && self.four_lines {
            PIECE_BLOCKS
        } else {
            NARROW_PIECE_BLOCKS
        };
        n_blocks * BLOCK_BYTES
    }

    /// One read command without retries.
    pub(super) fn read_once(
        &mut self,
        way: Way,
        block: u64,
        buf: &mut [u8],
    ) -> Result<(), Failure> {
        let command = self.read_command(block, buf.len());
        let response = match way {
            Way::AsSet => self.host.read(command, BLOCK_BYTES, buf)?,
            Way::Port => self.host.read_by_port(command, BLOCK_BYTES, buf)?,
        };
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

    fn read_command(&self, block: u64, len_bytes: usize) -> Command {
        let address = self.addressing.argument(block);
        let address = address.expect("a block of the card has an address");
        if len_bytes == BLOCK_BYTES {
            Command::read_single(address)
        } else {
            Command::read_multiple(address)
        }
    }

    /// Reads some blocks of what came in by DMA again, by the data port: a line that was not dropped, or
    /// a transfer that went elsewhere, is seen here and nowhere else.
    fn compare_samples(&mut self, way: Way, first: u64, buf: &[u8]) -> Result<(), Failure> {
        let is_by_dma = way == Way::AsSet && self.host.transfer() == Transfer::Adma2;
        if !is_by_dma || buf.len() < UNSAMPLED_BLOCKS * BLOCK_BYTES {
            return Ok(());
        }
        let mut start = first;
        for span in buf.chunks(SAMPLED_BLOCKS * BLOCK_BYTES) {
            let n_blocks = span.len() / BLOCK_BYTES;
            let chosen = (self.random() % n_blocks as u64) as usize;
            let mut sample = [0; BLOCK_BYTES];
            let command = self.read_command(start + chosen as u64, BLOCK_BYTES);
            let response = self.host.read_by_port(command, BLOCK_BYTES, &mut sample)?;
            if CardStatus(response.short).errors() != 0 {
                let status = response.short;
                return Err(Failure::Card { status });
            }
            if sample[..] != span[chosen * BLOCK_BYTES..][..BLOCK_BYTES] {
                let block = start + chosen as u64;
                return Err(Failure::Mismatch { block });
            }
            start += n_blocks as u64;
        }
        Ok(())
    }

    /// The next number of a xorshift generator (Marsaglia 2003), which the time has started.
    fn random(&mut self) -> u64 {
        if self.seed == 0 {
            self.seed = self.host.now_us() ^ u64::from(self.cid.serial) << 32 | 1;
        }
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    /// Counts the failure, brings host and card back, and changes what the ladder says to change.
    fn after_failure(
        &mut self,
        attempts: &mut Attempts,
        block: u64,
        mut cause: Failure,
    ) -> Result<(), CardError> {
        self.counters.count(&cause);
        loop {
            let elapsed_us = self.host.now_us().wrapping_sub(attempts.start_us);
            if elapsed_us > PIECE_LIMIT_US {
                return Err(CardError::Unreadable { block, cause });
            }
            if elapsed_us > SILENCE_LIMIT_US && !attempts.is_told {
                attempts.is_told = true;
                self.host.tell(Notice::Slow { block });
            }
            match attempts.ladder.failed(cause.cause()) {
                Step::Again => {}
                Step::Climb(Rung::AsIs) => unreachable!("a ladder only climbs"),
                Step::Climb(Rung::Pio) => self.give_up_dma(PioReason::GivenUp),
                Step::Climb(Rung::HalfClock) => self.slow_down()?,
                Step::Climb(Rung::SingleBlocks) => {}
                Step::GiveUp => return Err(CardError::Unreadable { block, cause }),
            }
            self.counters.retries += 1;
            match self.recover() {
                Ok(()) => return Ok(()),
                Err(error) => cause = error.into(),
            }
            // Silent at its address: it may have lost its power for a moment.
            if !attempts.is_restarted {
                attempts.is_restarted = true;
                match self.restart() {
                    Ok(()) => return Ok(()),
                    Err(CardError::Exchanged) => return Err(CardError::Exchanged),
                    // Half started it would be read at the clock of identification: the slot starts it anew.
                    Err(_) => return Err(CardError::Unreadable { block, cause }),
                }
            }
        }
    }

    fn slow_down(&mut self) -> Result<(), CardError> {
        // Also for the next start of this card.
        self.modes.high_speed = false;
        if self.clock_hz > DEFAULT_SPEED_HZ {
            self.host.reset_lines()?;
            self.clock_hz = self.host.set_clock_hz(DEFAULT_SPEED_HZ)?;
            let clock_hz = self.clock_hz;
            self.host.tell(Notice::HalfClock { clock_hz });
        }
        Ok(())
    }

    /// Initialises a card anew that has forgotten its address, if it is the same one.
    fn restart(&mut self) -> Result<(), CardError> {
        let before = (self.cid, self.addressing, self.n_blocks);
        self.host.cycle_power();
        let csd = self.identify();
        let after = (self.cid, self.addressing, self.n_blocks);
        // What a start has found that came to nothing is not the card's.
        (self.cid, self.addressing, self.n_blocks) = before;
        let csd = csd?;
        if after != before {
            return Err(CardError::Exchanged);
        }
        self.speed_up(&csd)
    }

    /// After a failed transfer: lines reset, card back in the transfer state.
    pub(super) fn recover(&mut self) -> Result<(), HostError> {
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
