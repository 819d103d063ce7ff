//! From power to the fastest mode that card and host have at 3.3 V.
//!
//! Order and limits: SD Physical Layer Simplified Specification 6.00, §4.2 (identification) and
//! §4.3.10 (switch function).

use super::{CardError, DEFAULT_SPEED_HZ, HIGH_SPEED_HZ, SdCard};
use crate::sd::host::SdHost;
use crate::sd::identity::{Cid, Csd, Scr, SwitchStatus};
use crate::sd::protocol::{Addressing, BLOCK_BYTES, CardStatus, Command, IF_COND, Ocr, Response};

/// Between two ACMD41; cards need about 30 of them.
const POWER_UP_PERIOD_US: u64 = 10_000;
/// A card may take a second to power up (§4.2.3); slow ones are given two.
const POWER_UP_LIMIT_US: u64 = 2_000_000;

impl<H: SdHost> SdCard<H> {
    /// From power to a selected card at the default speed.
    pub(super) fn identify(&mut self) -> Result<Csd, CardError> {
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
    pub(super) fn speed_up(&mut self, csd: &Csd) -> Result<(), CardError> {
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
