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

use super::adma::{self, DmaMap, Table};
use super::divider::Divider;
use super::host::{Clock, HostError, SdHost, Transfer};
use super::protocol::{BLOCK_BYTES, Command, Response, ResponseKind};
use super::registers::{
    Block, Word, Words, capabilities, clock_reset, host_power, interrupt, mode_command, present,
};
use crate::dma::Caches;
use crate::mmio::Mmio;

/// Expander line that selects the I/O rail: 0 is 3.3 V, 1 is 1.8 V.
pub const GPIO_VDD_SD_IO_SEL: u32 = 132;
/// Expander line that powers the card.
pub const GPIO_SD_PWR_ON: u32 = 134;

/// EMMC2's highest base clock seen. Where the mailbox does not tell, this one is assumed: the card
/// clock can then only be slower than meant.
const HIGHEST_BASE_HZ: u32 = 250_000_000;
/// Card clock of the identification phase.
const IDENTIFICATION_HZ: u32 = 400_000;

const COMMAND_LIMIT_US: u64 = 100_000;
const RESET_LIMIT_US: u64 = 100_000;
/// For each block by PIO, for a whole command by DMA, and for busy: cards stall longer than 100 ms.
const DATA_LIMIT_US: u64 = 1_000_000;
const POWER_SETTLE_US: u64 = 2_000;
const RAIL_SETTLE_US: u64 = 5_000;
/// At least 74 card clocks before the first command.
const CLOCK_SETTLE_US: u64 = 1_000;

/// What the rest of the chip does for the slot. The firmware's answers may be missing: QEMU does not
/// know the expander.
pub trait Board: Caches {
    /// Sets a line of the GPIO expander (mailbox tag 0x0003_8041); false if there was no answer.
    fn set_expander_gpio(&mut self, gpio: u32, high: bool) -> bool;
    /// The physical address of `len` bytes at `addr`; nothing if they are not one piece of memory.
    fn phys_addr(&self, addr: usize, len: usize) -> Option<usize>;
    /// The controller's base clock (mailbox tag 0x0003_0002, clock 12 for EMMC2).
    fn base_clock_hz(&mut self) -> Option<u32>;
}

/// Which rails answered when the card was last powered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rails {
    /// The I/O rail was set to 3.3 V.
    pub io_3v3: bool,
    /// The card's power was switched on.
    pub card_power: bool,
}

/// A controller with its clock and the board's part.
pub struct Sdhci<W, C, B> {
    words: W,
    clock: C,
    board: B,
    base_hz: u32,
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
            base_hz: 0,
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

impl<W: Words, C: Clock, B: Board> Sdhci<W, C, B> {
    /// The capability word: what the controller says it can do.
    pub fn capabilities(&self) -> u32 {
        self.words.read(Word::Capabilities)
    }

    /// The version word's upper half.
    pub fn version(&self) -> u32 {
        self.words.read(Word::SlotVersion) >> 16
    }

    /// The present state word.
    pub fn present(&self) -> u32 {
        self.words.read(Word::Present)
    }

    /// This is QEMU's raspi4b and nothing is plugged into this controller.
    ///
    /// Only then may a caller look at the legacy controller: on a board the slot is EMMC2's, and its
    /// detect bit means nothing.
    pub fn is_empty_in_qemu(&self) -> bool {
        self.capabilities() == capabilities::QEMU && self.present() & present::CARD_INSERTED == 0
    }

    /// The base clock in use; 0 before the first reset.
    pub fn base_clock_hz(&self) -> u32 {
        self.base_hz
    }

    /// Which rails answered at the last reset.
    pub fn rails(&self) -> Rails {
        self.rails
    }

    /// Whether the controller has a DMA engine that this driver can use.
    pub fn can_dma(&self) -> bool {
        self.capabilities() & capabilities::ADMA2 != 0
    }

    /// The bus address of the descriptor table.
    fn table_addr(&self, map: DmaMap) -> Option<u32> {
        let addr = core::ptr::from_ref::<Table>(self.table).addr();
        let len = size_of::<Table>();
        map.bus_addr(self.board.phys_addr(addr, len)?, len)
    }

    /// Writes a word, then waits as long as the clock domain crossing needs.
    fn write(&self, word: Word, value: u32) {
        self.words.write(word, value);
        if self.card_hz <= IDENTIFICATION_HZ {
            // Four card clocks; before the first clock is set, those of the slowest one.
            let hz = if self.card_hz == 0 {
                super::divider::LOWEST_HZ
            } else {
                self.card_hz
            };
            self.clock.wait_us(4_000_000_u64.div_ceil(u64::from(hz)));
        }
    }

    /// Waits until `done` is satisfied with the word, or the limit has passed: then the last value.
    fn wait_for(&self, word: Word, limit_us: u64, done: impl Fn(u32) -> bool) -> Result<u32, u32> {
        let mut value = self.words.read(word);
        if done(value) {
            return Ok(value);
        }
        let start = self.clock.now_us();
        loop {
            value = self.words.read(word);
            if done(value) {
                return Ok(value);
            }
            if self.clock.now_us().wrapping_sub(start) > limit_us {
                return Err(value);
            }
            self.clock.relax();
        }
    }

    /// Sets reset bits and waits until the controller has cleared them.
    fn reset_bits(&self, bits: u32) -> Result<(), HostError> {
        let control = self.words.read(Word::ClockReset);
        self.write(Word::ClockReset, control | bits);
        self.wait_for(Word::ClockReset, RESET_LIMIT_US, |v| v & bits == 0)
            .map_err(|control| HostError::ResetStuck { control })?;
        Ok(())
    }

    /// Waits until CMD, or CMD and DAT, are free.
    fn wait_idle(&self, inhibit: u32) -> Result<(), HostError> {
        self.wait_for(Word::Present, COMMAND_LIMIT_US, |v| v & inhibit == 0)
            .map_err(|present| HostError::LinesBusy { present })?;
        Ok(())
    }

    fn write_host_control(&self) {
        self.write(Word::HostPower, self.host_control | host_power::POWER_3V3);
    }

    /// Waits for an event; any error bit comes first, because QEMU sets both and boards only the error.
    fn wait_event(&self, event: u32, limit_us: u64, index: u8) -> Result<(), HostError> {
        let result = self.wait_for(Word::IntStatus, limit_us, |v| {
            v & (event | interrupt::ERRORS) != 0
        });
        match result {
            Ok(status) if status & interrupt::ERRORS != 0 => Err(self.explain(status, index)),
            Ok(_) => {
                self.write(Word::IntStatus, event);
                Ok(())
            }
            Err(_) if event == interrupt::COMMAND_COMPLETE => {
                Err(HostError::CommandTimeout { index })
            }
            Err(_) => Err(HostError::DataTimeout { index }),
        }
    }

    /// The most telling of the error bits.
    fn explain(&self, status: u32, index: u8) -> HostError {
        let any = |bits| status & bits != 0;
        if any(interrupt::COMMAND_CORRUPT) {
            HostError::CommandCorrupt { index, status }
        } else if any(interrupt::COMMAND_TIMEOUT) {
            HostError::CommandTimeout { index }
        } else if any(interrupt::DATA_CORRUPT) {
            HostError::DataCorrupt { index, status }
        } else if any(interrupt::DATA_TIMEOUT) {
            HostError::DataTimeout { index }
        } else if any(interrupt::AUTO_CMD) {
            HostError::AutoStop {
                status: self.words.read(Word::AutoHost2) & 0xFFFF,
            }
        } else if any(interrupt::ADMA) {
            HostError::Dma {
                status: self.words.read(Word::AdmaError),
            }
        } else {
            HostError::Controller { status }
        }
    }

    /// Sends `command` with the transfer `mode` and waits for its answer.
    fn start(&self, command: Command, mode: u32) -> Result<Response, HostError> {
        let needs_dat =
            mode != 0 || (command.response == ResponseKind::ShortBusy && !command.is_abort());
        let inhibit = if needs_dat {
            present::CMD_INHIBIT | present::DAT_INHIBIT
        } else {
            present::CMD_INHIBIT
        };
        self.wait_idle(inhibit)?;
        self.write(Word::IntStatus, u32::MAX);
        self.write(Word::Argument, command.argument);
        self.write(Word::ModeCommand, command_word(command, mode));
        self.wait_event(interrupt::COMMAND_COMPLETE, COMMAND_LIMIT_US, command.index)?;
        Ok(self.response(command.response))
    }

    fn response(&self, kind: ResponseKind) -> Response {
        match kind {
            ResponseKind::None => Response::default(),
            ResponseKind::Long => {
                // The controller keeps bits 127:8 of the register, shifted down by 8: no CRC.
                let words = [
                    Word::Response3,
                    Word::Response2,
                    Word::Response1,
                    Word::Response0,
                ];
                let shifted = words
                    .iter()
                    .fold(0, |acc, &w| acc << 32 | u128::from(self.words.read(w)));
                Response {
                    short: 0,
                    long: shifted << 8,
                }
            }
            _ => Response {
                short: self.words.read(Word::Response0),
                long: 0,
            },
        }
    }

    /// Hands `buf` to the DMA engine, if it is in use and reaches `buf`.
    fn prepare_dma(&mut self, buf: &[u8]) -> bool {
        let Some(map) = self.dma else {
            return false;
        };
        let phys = self.board.phys_addr(buf.as_ptr().addr(), buf.len());
        let addr = phys.and_then(|phys| dma_addr(map, phys, buf.len()));
        let (Some(addr), Some(table_addr)) = (addr, self.table_addr(map)) else {
            return false;
        };
        self.table.describe(addr, buf.len());
        // No dirty line may be written back over what the controller will have written.
        let clean = |addr, len| self.board.clean_and_invalidate(addr, len);
        clean(buf.as_ptr().addr(), buf.len());
        let table = core::ptr::from_ref::<Table>(self.table).addr();
        clean(table, size_of::<Table>());
        self.write(Word::AdmaAddr, table_addr);
        true
    }

    /// Waits until the DMA engine has written all of `buf`, or stops it.
    fn finish_dma(&self, index: u8, buf: &mut [u8]) -> Result<(), HostError> {
        // A second of patience, and the time that 1 MB/s takes: slower than any mode.
        let limit_us = DATA_LIMIT_US + buf.len() as u64;
        let result = self.wait_event(interrupt::TRANSFER_COMPLETE, limit_us, index);
        if result.is_err() {
            self.stop_dma()?;
        }
        // Lines that came back by prefetching while the transfer ran hold old bytes.
        self.board
            .clean_and_invalidate(buf.as_ptr().addr(), buf.len());
        result
    }

    /// Nothing is written to memory after this.
    fn stop_dma(&self) -> Result<(), HostError> {
        self.reset_bits(clock_reset::RESET_CMD)?;
        self.reset_bits(clock_reset::RESET_DAT)
    }

    /// Takes the blocks out of the data port.
    fn read_port(&self, index: u8, block_bytes: usize, buf: &mut [u8]) -> Result<(), HostError> {
        for block in buf.chunks_exact_mut(block_bytes) {
            self.wait_event(interrupt::READ_READY, DATA_LIMIT_US, index)?;
            for word in block.chunks_exact_mut(4) {
                word.copy_from_slice(&self.words.read(Word::Data).to_le_bytes());
            }
        }
        self.wait_event(interrupt::TRANSFER_COMPLETE, DATA_LIMIT_US, index)
    }
}

/// The bus address of `len` bytes at the physical address `phys`, if the DMA engine can fill them.
fn dma_addr(map: DmaMap, phys: usize, len: usize) -> Option<u32> {
    let aligned = phys.is_multiple_of(adma::ALIGNMENT) && len.is_multiple_of(adma::ALIGNMENT);
    if !aligned || !(1..=adma::MAX_BYTES).contains(&len) {
        return None;
    }
    map.bus_addr(phys, len)
}

/// The transfer mode and command word.
fn command_word(command: Command, mode: u32) -> u32 {
    use mode_command as m;
    let mut word = u32::from(command.index) << m::INDEX_SHIFT | mode;
    word |= match command.response {
        ResponseKind::None => 0,
        ResponseKind::Short => m::RESPONSE_48 | m::CHECK_CRC | m::CHECK_INDEX,
        ResponseKind::ShortBusy => m::RESPONSE_48_BUSY | m::CHECK_CRC | m::CHECK_INDEX,
        ResponseKind::Long => m::RESPONSE_136 | m::CHECK_CRC,
        ResponseKind::Ocr => m::RESPONSE_48,
    };
    if mode != 0 {
        word |= m::DATA;
    }
    if command.is_abort() {
        word |= m::TYPE_ABORT;
    }
    word
}

/// The transfer mode of a read of `n_blocks`.
fn read_mode(n_blocks: usize) -> u32 {
    use mode_command as m;
    if n_blocks == 1 {
        m::READ
    } else {
        m::READ | m::MULTI | m::BLOCK_COUNT | m::AUTO_CMD12
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
        self.card_hz = 0;
        self.host_control &= host_power::ADMA2;
        self.rails = Rails {
            io_3v3: self.board.set_expander_gpio(GPIO_VDD_SD_IO_SEL, false),
            card_power: self.board.set_expander_gpio(GPIO_SD_PWR_ON, true),
        };
        if self.rails != Rails::default() {
            self.clock.wait_us(RAIL_SETTLE_US);
        }
        self.base_hz = match self.board.base_clock_hz() {
            Some(hz) if hz > 0 => hz,
            _ => HIGHEST_BASE_HZ,
        };

        self.reset_bits(clock_reset::RESET_ALL)?;
        self.write_host_control();
        self.clock.wait_us(POWER_SETTLE_US);
        // No 1.8 V signalling, no UHS mode.
        self.write(Word::AutoHost2, 0);
        self.write(Word::IntSignal, 0);
        self.write(Word::IntEnable, interrupt::LATCHED);
        self.write(Word::IntStatus, u32::MAX);
        self.set_clock_hz(IDENTIFICATION_HZ)?;
        Ok(())
    }

    fn command(&mut self, command: Command) -> Result<Response, HostError> {
        let response = self.start(command, 0)?;
        if command.response == ResponseKind::ShortBusy {
            self.wait_event(interrupt::TRANSFER_COMPLETE, DATA_LIMIT_US, command.index)?;
        }
        Ok(response)
    }

    fn read(
        &mut self,
        command: Command,
        block_bytes: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError> {
        let n_blocks = buf.len() / block_bytes;
        assert!(
            n_blocks * block_bytes == buf.len() && (1..=self.max_blocks()).contains(&n_blocks),
            "one command reads whole blocks, as many as the count has bits for"
        );
        self.wait_idle(present::CMD_INHIBIT | present::DAT_INHIBIT)?;
        self.write(
            Word::BlockSizeCount,
            (n_blocks as u32) << 16 | block_bytes as u32,
        );
        if self.prepare_dma(buf) {
            let mode = read_mode(n_blocks) | mode_command::DMA | mode_command::BLOCK_COUNT;
            let result = self.start(command, mode);
            if result.is_err() {
                self.stop_dma()?;
            }
            let response = result?;
            self.finish_dma(command.index, buf)?;
            return Ok(response);
        }
        let response = self.start(command, read_mode(n_blocks))?;
        self.read_port(command.index, block_bytes, buf)?;
        Ok(response)
    }

    fn set_clock_hz(&mut self, max_hz: u32) -> Result<u32, HostError> {
        let base_hz = self.base_hz;
        let divider = Divider::at_most(max_hz, base_hz).ok_or(HostError::BaseClock { base_hz })?;
        self.wait_idle(present::CMD_INHIBIT | present::DAT_INHIBIT)?;
        let stopped = self.words.read(Word::ClockReset) & !clock_reset::CARD_ENABLE;
        self.write(Word::ClockReset, stopped);
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
        self.write_host_control();
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
        let len = buf.len().min(adma::MAX_BYTES);
        let phys = self.board.phys_addr(buf.as_ptr().addr(), len);
        self.dma
            .is_none_or(|map| phys.and_then(|phys| dma_addr(map, phys, len)).is_some())
    }
}

#[cfg(test)]
#[path = "sdhci_tests.rs"]
mod tests;
