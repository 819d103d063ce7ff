//! A host whose card answers what the input says.

use std::cell::Cell;

use drivers::sd::Clock;
use drivers::sd::adma::DmaMap;
use drivers::sd::host::{HostError, Notice, SdHost, Transfer};
use drivers::sd::protocol::{
    Addressing, BLOCK_BYTES, CardStatus, Command, IF_COND, Ocr, Response, ResponseKind,
};

/// A card of 4 GiB.
const CSD: u128 = 1 << 126 | 0x5B5 << 84 | 8191 << 48;
const CID: u128 = 0x0353_4453_5533_3247_8012_3456_7801_5700;
const OCR: u32 = 0xC0FF_8000;
const RCA: u32 = 0xB368_0000;
/// In the transfer state, ready for data.
const TRAN: u32 = 0x900;

/// What happens to a command.
enum Fate {
    Sound,
    Raw(u128),
    Error(HostError),
}

/// The host.
pub(super) struct Host<'d> {
    fates: &'d [u8],
    pub(super) now_us: Cell<u64>,
    transfer: Transfer,
    /// Whether the last command was CMD55.
    is_app: bool,
    /// First of the blocks that may be asked for, and their end.
    pub(super) allowed: Cell<(u64, u64)>,
    /// Data have come in that were not the card's, without an error.
    pub(super) lied: bool,
    addressing: Addressing,
}

impl<'d> Host<'d> {
    pub(super) fn new(fates: &'d [u8]) -> Self {
        Self {
            fates,
            now_us: Cell::new(0),
            transfer: Transfer::Pio,
            is_app: false,
            allowed: Cell::new((0, 0)),
            lied: false,
            addressing: Addressing::Blocks,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.fates.split_first()?;
        self.fates = rest;
        Some(byte)
    }

    fn pass_us(&self, us: u64) {
        self.now_us.set(self.now_us.get() + us);
    }

    fn fate(&mut self, index: u8, kind: ResponseKind) -> Fate {
        self.pass_us(100);
        let status = 0x8000;
        let (error, takes_us) = match self.byte() {
            Some(0..0x80) => return Fate::Sound,
            Some(byte @ 0x80..0xC0) => {
                let n_bytes = if kind == ResponseKind::Long { 16 } else { 4 };
                let mut word = u128::from(byte & 0x3F);
                for _ in 0..n_bytes {
                    word = word << 8 | u128::from(self.byte().unwrap_or(0));
                }
                return Fate::Raw(word);
            }
            Some(0xC0..0xD0) => (HostError::CommandCorrupt { index, status }, 100),
            Some(0xD0..0xE0) => (HostError::DataTimeout { index }, 1_000_000),
            Some(0xE0..0xE8) => (HostError::DataCorrupt { index, status }, 100),
            Some(0xE8..0xF0) => (HostError::LinesBusy { present: 3 }, 100_000),
            Some(0xF0..0xF4) => (HostError::AutoStop { status: 2 }, 100),
            Some(0xF4..0xF8) => (HostError::Dma { status: 1 }, 1_000_000),
            Some(0xF8..) | None => (HostError::CommandTimeout { index }, 100_000),
        };
        self.pass_us(takes_us);
        Fate::Error(error)
    }

    /// What a sound card answers.
    fn answer(&mut self, command: Command) -> Response {
        let is_app = std::mem::replace(&mut self.is_app, command.index == 55);
        let (short, long) = match command.index {
            2 => (0, CID),
            3 => (RCA | 0x500, 0),
            8 => (IF_COND, 0),
            9 => (0, CSD),
            7 => (0x700, 0),
            41 if is_app => (OCR, 0),
            55 => (0x120, 0),
            _ => (TRAN, 0),
        };
        Response {
            short,
            long,
            stop: 0,
        }
    }

    fn respond(&mut self, command: Command) -> Result<Response, HostError> {
        let response = match self.fate(command.index, command.response) {
            Fate::Error(error) => {
                self.is_app = false;
                return Err(error);
            }
            Fate::Sound => self.answer(command),
            Fate::Raw(word) => {
                self.is_app = command.index == 55;
                Response {
                    short: word as u32,
                    long: word & !0xFF,
                    stop: 0,
                }
            }
        };
        // A card that is up addresses its data as before, whatever it says in a restart.
        let is_up = self.allowed.get() != (0, 0);
        let ocr = Ocr(response.short);
        if command.response == ResponseKind::Ocr && ocr.ready() && !is_up {
            self.addressing = ocr.addressing();
        }
        Ok(response)
    }

    /// Fills `buf` as a sound card does.
    fn fill(&self, command: Command, buf: &mut [u8]) {
        match command.index {
            51 => buf.copy_from_slice(&[2, 0x35, 0x80, 0, 0, 0, 0, 0]),
            6 => {
                buf.fill(0);
                buf[13] = 2;
                buf[16] = (command.argument & 0xF) as u8;
            }
            _ => {
                let first = self.first_block(command);
                for (i, block) in buf.chunks_mut(BLOCK_BYTES).enumerate() {
                    block.fill((first + i as u64) as u8);
                }
            }
        }
    }

    fn first_block(&self, command: Command) -> u64 {
        let argument = u64::from(command.argument);
        match self.addressing {
            Addressing::Blocks => argument,
            Addressing::Bytes => {
                assert!(argument.is_multiple_of(BLOCK_BYTES as u64));
                argument / BLOCK_BYTES as u64
            }
        }
    }

    fn transfer(
        &mut self,
        command: Command,
        size: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError> {
        assert!(
            [8, 64, BLOCK_BYTES].contains(&size)
                && buf.len().is_multiple_of(size)
                && !buf.is_empty()
        );
        assert!(buf.len() / size <= self.max_blocks());
        if matches!(command.index, 17 | 18) {
            let first = self.first_block(command);
            let end = first + (buf.len() / BLOCK_BYTES) as u64;
            let allowed = self.allowed.get();
            assert!(allowed.0 <= first && end <= allowed.1, "{first} to {end}");
        }
        let is_raw = self.fates.first().is_some_and(|byte| *byte >= 0x80);
        // What comes with an error is nobody's data.
        buf.fill(0xEE);
        let response = self.respond(command)?;
        if CardStatus(response.short).errors() == 0 {
            self.fill(command, buf);
        }
        // A raw answer comes with raw data.
        if is_raw {
            let bent = self.byte().unwrap_or(0);
            buf.iter_mut().for_each(|byte| *byte ^= bent);
            self.lied |= bent != 0 && CardStatus(response.short).errors() == 0;
        }
        Ok(response)
    }
}

impl Clock for Host<'_> {
    fn now_us(&self) -> u64 {
        self.pass_us(1);
        self.now_us.get()
    }

    fn relax(&self) {
        self.pass_us(1);
    }

    fn wait_us(&self, us: u64) {
        self.pass_us(us);
    }
}

impl SdHost for Host<'_> {
    fn reset(&mut self) -> Result<(), HostError> {
        self.pass_us(30_000);
        Ok(())
    }

    fn cycle_power(&mut self) {
        self.pass_us(70_000);
    }

    fn command(&mut self, command: Command) -> Result<Response, HostError> {
        self.respond(command)
    }

    fn read(
        &mut self,
        command: Command,
        size: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError> {
        self.transfer(command, size, buf)
    }

    fn read_by_port(
        &mut self,
        command: Command,
        size: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError> {
        self.read(command, size, buf)
    }

    fn tell(&mut self, notice: Notice) {
        assert!(!notice.to_string().contains(char::is_control));
    }

    fn set_clock_hz(&mut self, max_hz: u32) -> Result<u32, HostError> {
        Ok(max_hz)
    }

    fn set_four_lines(&mut self) {}

    fn set_high_speed(&mut self, _: bool) {}

    fn reset_lines(&mut self) -> Result<(), HostError> {
        Ok(())
    }

    fn max_blocks(&self) -> usize {
        match self.transfer {
            Transfer::Pio => 0xFFFF,
            Transfer::Adma2 => 16_384,
        }
    }

    fn transfer(&self) -> Transfer {
        self.transfer
    }

    fn use_dma(&mut self, _: DmaMap) -> bool {
        self.transfer = Transfer::Adma2;
        true
    }

    fn is_direct(&self, _: &[u8]) -> bool {
        true
    }

    fn use_pio(&mut self) {
        self.transfer = Transfer::Pio;
    }
}
