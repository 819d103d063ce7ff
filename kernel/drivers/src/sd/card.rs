//! A card on a host: initialisation, reads, retries.
//!
//! Nothing here knows a register. Order and limits of the initialisation: SD Physical Layer
//! Simplified Specification 6.00, §4.2 (identification) and §4.3.10 (switch function).

use core::fmt;

use super::adma::DmaMap;
use super::host::{HostError, SdHost, Transfer};
use super::identity::{Cid, Csd, Scr, SwitchStatus};
use super::protocol::{
    Addressing, BLOCK_BYTES, CardState, CardStatus, Command, IF_COND, Ocr, Response,
};
use super::retry::{Ladder, Rung, Step};

/// Card clock of default-speed transfers.
pub const DEFAULT_SPEED_HZ: u32 = 25_000_000;
/// Card clock of high-speed transfers.
pub const HIGH_SPEED_HZ: u32 = 50_000_000;

/// Blocks per command: 4 MiB amortise a command's cost, and a failed one costs little to repeat.
const PIECE_BLOCKS: usize = 8192;

/// Between two ACMD41; cards need about 30 of them.
const POWER_UP_PERIOD_US: u64 = 10_000;
/// A card may take a second to power up (§4.2.3); slow ones are given two.
const POWER_UP_LIMIT_US: u64 = 2_000_000;
/// From a failed transfer back to the transfer state.
const RECOVERY_LIMIT_US: u64 = 1_000_000;

/// Why a card cannot be used, or a read failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardError {
    /// Nothing answers in the slot.
    NoCard,
    /// CMD8 was echoed wrongly: the card does not take 2.7–3.6 V.
    Voltage {
        /// What the card answered, from CMD8 or ACMD41.
        answer: u32,
    },
    /// The card never finished powering up.
    NeverReady {
        /// The last OCR.
        ocr: u32,
    },
    /// The card is locked with a password.
    Locked,
    /// A CSD structure of a newer kind of card.
    UnknownCsd {
        /// CSD structure version field.
        version: u8,
    },
    /// The card refused a command.
    Refused {
        /// CMD index.
        index: u8,
        /// R1 card status.
        status: u32,
    },
    /// The controller reported a failure.
    Host(HostError),
    /// A read went wrong on every rung of the ladder.
    Unreadable {
        /// First block of the failing piece.
        block: u64,
        /// The last failure.
        cause: Failure,
    },
    /// A read beyond the end of the card.
    OutOfRange {
        /// First block asked for.
        block: u64,
        /// Blocks on the card.
        n_blocks: u64,
    },
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoCard => f.write_str("no card answers in the SD slot: insert one and try again"),
            Self::Voltage { answer } => write!(
                f,
                "the SD card refuses 3.3 V (answer {answer:#010x}): use another card"
            ),
            Self::NeverReady { ocr } => write!(
                f,
                "the SD card never became ready (OCR {ocr:#010x}): re-insert it or use another"
            ),
            Self::Locked => f.write_str("the SD card is locked with a password: unlock it first"),
            Self::UnknownCsd { version } => write!(
                f,
                "the SD card is of a newer kind (CSD version {version}): use a card up to 2 TB"
            ),
            Self::Refused { index, status } => write!(
                f,
                "the SD card refused CMD{index} (status {status:#010x}): re-insert it or use another"
            ),
            Self::Host(error) => write!(f, "SD card: {error}: re-insert it or use another"),
            Self::Unreadable { block, cause } => write!(
                f,
                "SD card block {block} cannot be read: {cause}: re-insert the card or use another"
            ),
            Self::OutOfRange { block, n_blocks } => write!(
                f,
                "SD card block {block} is beyond the card's end ({n_blocks} blocks)"
            ),
        }
    }
}

impl core::error::Error for CardError {}

/// Who reported that a read went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The controller.
    Host(HostError),
    /// The card, in the R1 status of the read command.
    Card {
        /// R1 card status.
        status: u32,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(error) => error.fmt(f),
            Self::Card { status } => write!(f, "the card reports {status:#010x}"),
        }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl From<HostError> for CardError {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

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
        let status = CardStatus(self.host.read(command, BLOCK_BYTES, buf)?.short);
        match status.errors() {
            0 => Ok(()),
            _ => Err(Failure::Card { status: status.0 }),
        }
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

    /// From power to a selected card at the default speed.
    fn identify(&mut self) -> Result<Csd, CardError> {
        self.host.reset()?;
        self.host.command(Command::go_idle())?;
        let version_2 = self.send_if_cond()?;
        let ocr = self.power_up(version_2)?;
        self.addressing = ocr.addressing();

        self.cid = Cid::parse(self.host.command(Command::all_send_cid())?.long);
        let published = self.host.command(Command::send_relative_addr())?.short;
        self.rca = (published >> 16) as u16;
        let csd = self.host.command(Command::send_csd(self.rca))?.long;
        let csd = Csd::parse(csd).map_err(|e| CardError::UnknownCsd { version: e.0 })?;
        // What 32 bits cannot address is not there, whatever a damaged CSD says.
        self.n_blocks = match self.addressing {
            Addressing::Bytes => csd.n_blocks.min((1 << 32) / BLOCK_BYTES as u64),
            Addressing::Blocks => csd.n_blocks.min(1 << 32),
        };

        self.clock_hz = self.host.set_clock_hz(DEFAULT_SPEED_HZ)?;
        let response = self.host.command(Command::select(self.rca))?;
        if CardStatus(response.short).locked() {
            return Err(CardError::Locked);
        }
        if self.addressing == Addressing::Bytes {
            self.send(Command::set_block_len(BLOCK_BYTES as u32))?;
        }
        Ok(csd)
    }

    /// CMD8: true for cards of version 2.00 and later, false for the silent older ones.
    fn send_if_cond(&mut self) -> Result<bool, CardError> {
        match self.host.command(Command::send_if_cond()) {
            Ok(response) if response.short & 0xFFF == IF_COND => Ok(true),
            Ok(response) => Err(CardError::Voltage {
                answer: response.short,
            }),
            Err(error) if error.is_silence() => {
                self.host.reset_lines()?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// ACMD41 until the card is ready.
    fn power_up(&mut self, version_2: bool) -> Result<Ocr, CardError> {
        let start = self.host.now_us();
        loop {
            match self.host.command(Command::app(0)) {
                Ok(_) => {}
                // Silent to CMD8 and to CMD55: the slot is empty.
                Err(error) if error.is_silence() && !version_2 => return Err(CardError::NoCard),
                Err(error) => return Err(error.into()),
            }
            let ocr = Ocr(self.host.command(Command::send_op_cond(version_2))?.short);
            if ocr.ready() {
                return if ocr.accepts_3v3() {
                    Ok(ocr)
                } else {
                    Err(CardError::Voltage { answer: ocr.0 })
                };
            }
            if self.host.now_us().wrapping_sub(start) > POWER_UP_LIMIT_US {
                return Err(CardError::NeverReady { ocr: ocr.0 });
            }
            self.host.wait_us(POWER_UP_PERIOD_US);
        }
    }

    /// Four lines and high speed, as far as the card has them.
    fn speed_up(&mut self, csd: &Csd) -> Result<(), CardError> {
        let mut scr = [0; Scr::BYTES];
        self.send(Command::app(self.rca))?;
        self.read_register(Command::send_scr(), &mut scr)?;
        let scr = Scr::parse(&scr);
        if scr.four_lines {
            self.send(Command::app(self.rca))?;
            self.send(Command::set_bus_width_4())?;
            self.host.set_four_lines();
            self.four_lines = true;
        }
        // CMD6 came with version 1.10.
        if scr.spec >= 1 && csd.has_switch() && self.switch_to_high_speed()? {
            // The card changes its timing within 8 clocks of the status' end bit.
            self.host.wait_us(10);
            self.host.set_high_speed(true);
            self.high_speed = true;
            self.clock_hz = self.host.set_clock_hz(HIGH_SPEED_HZ)?;
        }
        Ok(())
    }

    /// Asks for high speed first, then switches; true if the card confirms it.
    fn switch_to_high_speed(&mut self) -> Result<bool, CardError> {
        let mut status = [0; SwitchStatus::BYTES];
        let check = Command::switch_access_mode(false, 0);
        self.read_register(check, &mut status)?;
        if !SwitchStatus::parse(&status).offers_high_speed() {
            return Ok(false);
        }
        let switch = Command::switch_access_mode(true, SwitchStatus::HIGH_SPEED);
        self.read_register(switch, &mut status)?;
        Ok(SwitchStatus::parse(&status).selected == SwitchStatus::HIGH_SPEED)
    }

    /// A command without data whose R1 status must be clean.
    fn send(&mut self, command: Command) -> Result<(), CardError> {
        let response = self.host.command(command)?;
        accept(command, response)
    }

    /// A register that comes as one data block.
    fn read_register(&mut self, command: Command, buf: &mut [u8]) -> Result<(), CardError> {
        let response = self.host.read(command, buf.len(), buf)?;
        accept(command, response)
    }
}

/// Turns error bits of an R1 answer into an error.
fn accept(command: Command, response: Response) -> Result<(), CardError> {
    if CardStatus(response.short).errors() == 0 {
        Ok(())
    } else {
        Err(CardError::Refused {
            index: command.index,
            status: response.short,
        })
    }
}

#[cfg(test)]
#[path = "card_tests.rs"]
mod tests;
