//! An SDHCI controller of the BCM2711: EMMC2, which has the card slot, and the legacy one.
//!
//! What differs from a plain SDHCI driver, and is invisible in QEMU:
//! - the controller never answers before bus power is on, which needs its own register;
//! - 16-bit writes get lost, and at the identification clock any two writes within four card clocks
//!   collide: 32-bit words only, and a delay after each while the clock is at most 400 kHz;
//! - the I/O rail is switched by the firmware's GPIO expander, not by the controller;
//! - the time-out counter and the card-detect bit mean nothing: deadlines are kept here, in time.
//!
//! Resources: SD Host Controller Simplified Specification 3.00, §3 (sequences). Facts about the board:
//! Linux `sdhci-iproc.c` (access width, delays, Auto-CMD12, lowest clock), `bcm2711-rpi-4-b.dts`
//! (expander lines, no card detect), Circle `emmc.cpp` (bus power), raspberrypi/firmware#1179 (clock 12).

mod command;
mod dma;
mod power;
mod report;
mod wait;

use super::adma::{self, DmaMap, Table};
use super::base_clock::{BaseClock, Question};
use super::divider::Divider;
use super::host::{HostError, Notice, SdHost, Transfer};
use super::protocol::{BLOCK_BYTES, Command, Response, ResponseKind};
use super::registers::{Block, Word, Words, clock_reset, host_power, mode_command, present};
use crate::clock::Clock;
use crate::dma::Caches;
use crate::mmio::Mmio;
use command::read_mode;
use dma::dma_addr;
pub use report::{Rails, State};

/// Expander line that selects the I/O rail: 0 is 3.3 V, 1 is 1.8 V.
pub const GPIO_VDD_SD_IO_SEL: u32 = 132;
/// Expander line that powers the card.
pub const GPIO_SD_PWR_ON: u32 = 134;

/// Card clock of the identification phase.
const IDENTIFICATION_HZ: u32 = 400_000;

const COMMAND_LIMIT_US: u64 = 100_000;
const RESET_LIMIT_US: u64 = 100_000;
/// For each block by PIO, for a whole command by DMA, and for busy: cards stall longer than 100 ms.
const DATA_LIMIT_US: u64 = 1_000_000;
/// At least 74 card clocks before the first command.
const CLOCK_SETTLE_US: u64 = 1_000;

/// What the rest of the chip does for the slot. The firmware's answers may be missing: QEMU does not
/// know the expander.
pub trait Board: Caches {
    /// Switches the controller on (mailbox tag 0x0002_8001), if somebody listens.
    fn power_controller(&mut self);
    /// Sets a line of the GPIO expander (mailbox tag 0x0003_8041); false if there was no answer.
    fn set_expander_gpio(&mut self, gpio: u32, high: bool) -> bool;
    /// The physical address of `len` bytes at `addr`; nothing if they are not one piece of memory.
    fn phys_addr(&self, addr: usize, len: usize) -> Option<usize>;
    /// Says what somebody at the console should know.
    fn tell(&mut self, notice: Notice);
    /// What the mailbox answers to one of the questions for the controller's base clock (clock 12 for
    /// EMMC2).
    fn base_clock_hz(&mut self, question: Question) -> Option<u32>;
}

/// A controller with its clock and the board's part.
pub struct Sdhci<W, C, B> {
    words: W,
    clock: C,
    board: B,
    base_clock: BaseClock,
    /// What the firmware answers to each [`Question`].
    clock_answers: [Option<u32>; 3],
    /// How the firmware has left the controller.
    as_left: Option<State>,
    card_hz: u32,
    host_control: u32,
    rails: Rails,
    /// Descriptors of the transfer under way.
    table: &'static mut Table,
    /// Set while transfers go by DMA.
    dma: Option<DmaMap>,
}

impl<C, B> Sdhci<Mmio<Block>, C, B> {
    /// The controller with these registers. `table` lies below 1 GiB.
    pub const fn new(
        registers: Mmio<Block>,
        clock: C,
        board: B,
        table: &'static mut Table,
    ) -> Self {
        Self::on(registers, clock, board, table)
    }
}

impl<W, C, B> Sdhci<W, C, B> {
    const fn on(words: W, clock: C, board: B, table: &'static mut Table) -> Self {
        Self {
            words,
            clock,
            board,
            base_clock: BaseClock::ASSUMED,
            clock_answers: [None; 3],
            as_left: None,
            card_hz: 0,
            host_control: 0,
            rails: Rails {
                io_3v3: false,
                card_power: false,
            },
            table,
            dma: None,
        }
    }
}

impl<W, C: Clock, B> Clock for Sdhci<W, C, B> {
    fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    fn relax(&self) {
        self.clock.relax();
    }

    fn wait_us(&self, us: u64) {
        self.clock.wait_us(us);
    }
}

impl<W: Words, C: Clock, B: Board> SdHost for Sdhci<W, C, B> {
    fn reset(&mut self) -> Result<(), HostError> {
        self.power_up()
    }

    fn cycle_power(&mut self) {
        self.take_power_away();
    }

    fn command(&mut self, command: Command) -> Result<Response, HostError> {
        let response = self.start(command, 0)?;
        if command.response == ResponseKind::ShortBusy {
            self.wait_busy(command.index)?;
        }
        Ok(response)
    }

    fn read(
        &mut self,
        command: Command,
        block_bytes: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError> {
        let n_blocks = self.prepare_blocks(block_bytes, buf.len())?;
        if !self.prepare_dma(buf) {
            return self.read_blocks_by_port(command, block_bytes, buf);
        }
        let mode = read_mode(n_blocks) | mode_command::DMA | mode_command::BLOCK_COUNT;
        let result = self.start(command, mode);
        if result.is_err() {
            self.stop_dma()?;
        }
        let response = result?;
        self.finish_dma(command.index, buf)?;
        Ok(self.with_stop(n_blocks, response))
    }

    fn read_by_port(
        &mut self,
        command: Command,
        block_bytes: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError> {
        self.prepare_blocks(block_bytes, buf.len())?;
        self.read_blocks_by_port(command, block_bytes, buf)
    }

    fn tell(&mut self, notice: Notice) {
        self.board.tell(notice);
    }

    fn set_clock_hz(&mut self, max_hz: u32) -> Result<u32, HostError> {
        let base_hz = self.base_clock.hz;
        let divider = Divider::at_most(max_hz, base_hz).ok_or(HostError::BaseClock { base_hz })?;
        self.wait_idle(present::CMD_INHIBIT | present::DAT_INHIBIT)?;
        let stopped = self.words.read(Word::ClockReset) & !clock_reset::CARD_ENABLE;
        self.write(Word::ClockReset, stopped);
        self.write_host_control();
        let divided = clock_reset::LONGEST_TIMEOUT | divider.bits() | clock_reset::INTERNAL_ENABLE;
        self.write(Word::ClockReset, divided);
        self.wait_for(Word::ClockReset, RESET_LIMIT_US, |v| {
            v & clock_reset::INTERNAL_STABLE != 0
        })
        .map_err(|control| HostError::ClockUnstable { control })?;
        self.write(Word::ClockReset, divided | clock_reset::CARD_ENABLE);
        self.clock.wait_us(CLOCK_SETTLE_US);
        self.card_hz = divider.clock_hz;
        Ok(divider.clock_hz)
    }

    fn set_four_lines(&mut self) {
        self.host_control |= host_power::FOUR_LINES;
        self.write_host_control();
    }

    fn set_high_speed(&mut self, on: bool) {
        if on {
            self.host_control |= host_power::HIGH_SPEED;
        } else {
            self.host_control &= !host_power::HIGH_SPEED;
        }
    }

    fn reset_lines(&mut self) -> Result<(), HostError> {
        self.write(Word::IntStatus, u32::MAX);
        self.reset_bits(clock_reset::RESET_CMD)?;
        self.reset_bits(clock_reset::RESET_DAT)?;
        self.write(Word::IntStatus, u32::MAX);
        Ok(())
    }

    fn max_blocks(&self) -> usize {
        match self.dma {
            // The block count has 16 bits.
            None => 0xFFFF,
            Some(_) => adma::MAX_BYTES / BLOCK_BYTES,
        }
    }

    fn transfer(&self) -> Transfer {
        match self.dma {
            None => Transfer::Pio,
            Some(_) => Transfer::Adma2,
        }
    }

    fn use_dma(&mut self, map: DmaMap) -> bool {
        if !self.can_dma() || self.table_addr(map).is_none() {
            return false;
        }
        self.dma = Some(map);
        self.host_control |= host_power::ADMA2;
        self.write_host_control();
        true
    }

    fn use_pio(&mut self) {
        self.dma = None;
        self.host_control &= !host_power::ADMA2;
        self.write_host_control();
    }

    fn is_direct(&self, buf: &[u8]) -> bool {
        // All of it: a buffer that leaves the reach half-way is better filled through one that does not.
        let reaches = |map, piece: &[u8]| {
            let phys = self.board.phys_addr(piece.as_ptr().addr(), piece.len());
            phys.and_then(|phys| dma_addr(map, phys, piece.len()))
        };
        self.dma.is_none_or(|map| {
            let mut pieces = buf.chunks(adma::MAX_BYTES);
            pieces.all(|piece| reaches(map, piece).is_some())
        })
    }
}

#[cfg(test)]
mod tests;
