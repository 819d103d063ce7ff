//! From power to the fastest mode that card and host have at 3.3 V.
//!
//! Order and limits: SD Physical Layer Simplified Specification 6.00, §4.2 (identification) and
//! §4.3.10 (switch function).

use super::{CardError, DEFAULT_SPEED_HZ, HIGH_SPEED_HZ, Registers, SdCard};
use crate::sd::divider::LOWEST_HZ;
use crate::sd::host::SdHost;
use crate::sd::identity::{Cid, Csd, Scr, SwitchStatus};
use crate::sd::protocol::{Addressing, BLOCK_BYTES, CardStatus, Command, IF_COND, Ocr, Response};

/// Between two ACMD41; cards need about 30 of them.
const POWER_UP_PERIOD_US: u64 = 10_000;
/// Slow cards miss what comes right after CMD0; Linux waits as long.
const IDLE_SETTLE_US: u64 = 1_000;
/// From CMD7 to the transfer state.
const SELECT_LIMIT_US: u64 = 1_000_000;
/// Attempts at each step that a card can be used without.
const TRIES_PER_STEP: usize = 3;
/// A card may take a second to power up (§4.2.3); slow ones are given two.
const POWER_UP_LIMIT_US: u64 = 2_000_000;

impl<H: SdHost> SdCard<H> {
    /// From power to a selected card, at the identification clock.
    pub(super) fn identify(&mut self) -> Result<Csd, CardError> {
        self.host.reset()?;
        self.host.command(Command::go_idle())?;
        self.host.wait_us(IDLE_SETTLE_US);
        let version_2 = self.send_if_cond()?;
        let ocr = self.power_up(version_2)?;
        self.addressing = ocr.addressing();

        let cid = self.host.command(Command::all_send_cid())?.long;
        self.cid = Cid::parse(cid);
        let published = self.host.command(Command::send_relative_addr())?.short;
        self.rca = (published >> 16) as u16;
        let csd = self.host.command(Command::send_csd(self.rca))?.long;
        self.registers = Registers {
            ocr: ocr.0,
            cid,
            csd,
            ..Registers::default()
        };
        let csd = Csd::parse(csd).map_err(|e| CardError::UnknownCsd { version: e.0 })?;
        // What 32 bits cannot address is not there, whatever a damaged CSD says.
        self.n_blocks = match self.addressing {
            Addressing::Bytes => csd.n_blocks.min((1 << 32) / BLOCK_BYTES as u64),
            Addressing::Blocks => csd.n_blocks.min(1 << 32),
        };

        self.select()?;
        if self.addressing == Addressing::Bytes {
            self.send(Command::set_block_len(BLOCK_BYTES as u32))?;
        }
        Ok(csd)
    }

    /// CMD7, then CMD13 until the card is in the transfer state.
    fn select(&mut self) -> Result<(), CardError> {
        let command = Command::select(self.rca);
        let response = self.host.command(command)?;
        accept(command, response)?;
        if CardStatus(response.short).locked() {
            return Err(CardError::Locked);
        }
        let start = self.host.now_us();
        loop {
            let status = self.host.command(Command::send_status(self.rca))?.short;
            if CardStatus(status).ready_for_transfer() {
                return Ok(());
            }
            if self.host.now_us().wrapping_sub(start) > SELECT_LIMIT_US {
                let index = command.index;
                return Err(CardError::Refused { index, status });
            }
            self.host.wait_us(1000);
        }
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

    /// Four lines and high speed, as far as the card has them and its answers get through.
    ///
    /// All of it at the identification clock, which changes once, at the end: ACMD51 at 25 MHz is
    /// where cards are known to fail on this board. What fails costs speed, not the card.
    pub(super) fn speed_up(&mut self, csd: &Csd) -> Result<(), CardError> {
        let scr = self.attempt(Self::read_scr)?;
        // Block addresses came with version 2.00, and four lines long before that.
        let is_recent = self.addressing == Addressing::Blocks;
        let has_four_lines = self.modes.four_lines && scr.map_or(is_recent, |scr| scr.four_lines);
        // CMD6 came with version 1.10.
        let has_switch =
            self.modes.high_speed && csd.has_switch() && scr.map_or(is_recent, |scr| scr.spec >= 1);

        self.four_lines = has_four_lines && self.attempt(Self::widen)?.is_some();
        let switched = has_switch && self.attempt(Self::switch_to_high_speed)? == Some(true);
        self.host.set_high_speed(switched);
        self.high_speed = switched;
        let max_hz = if switched {
            // The card changes its timing within 8 clocks of the status' end bit.
            self.host.wait_us(8 * 1_000_000 / u64::from(LOWEST_HZ));
            HIGH_SPEED_HZ
        } else {
            DEFAULT_SPEED_HZ
        };
        self.clock_hz = self.host.set_clock_hz(max_hz)?;
        Ok(())
    }

    /// A step that the card can be used without: nothing after three failures that left the card usable.
    fn attempt<T>(
        &mut self,
        step: impl Fn(&mut Self) -> Result<T, CardError>,
    ) -> Result<Option<T>, CardError> {
        for _ in 0..TRIES_PER_STEP {
            match step(self) {
                Ok(done) => return Ok(Some(done)),
                Err(_) => self.recover()?,
            }
        }
        Ok(None)
    }

    fn read_scr(&mut self) -> Result<Scr, CardError> {
        let mut scr = [0; Scr::BYTES];
        self.send(Command::app(self.rca))?;
        self.read_register(Command::send_scr(), &mut scr)?;
        self.registers.scr = Some(scr);
        Ok(Scr::parse(&scr))
    }

    fn widen(&mut self) -> Result<(), CardError> {
        self.send(Command::app(self.rca))?;
        self.send(Command::set_bus_width_4())?;
        self.host.set_four_lines();
        Ok(())
    }

    /// Asks for high speed first, then switches; true if the card confirms it.
    fn switch_to_high_speed(&mut self) -> Result<bool, CardError> {
        let mut status = [0; SwitchStatus::BYTES];
        let check = Command::switch_access_mode(false, 0);
        self.read_register(check, &mut status)?;
        self.registers.switch_status = Some(status);
        if !SwitchStatus::parse(&status).offers_high_speed() {
            return Ok(false);
        }
        let switch = Command::switch_access_mode(true, SwitchStatus::HIGH_SPEED);
        self.read_register(switch, &mut status)?;
        self.registers.switch_status = Some(status);
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
