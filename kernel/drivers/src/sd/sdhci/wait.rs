//! Words written at the card's pace, and events waited for with deadlines of our own.

use super::{Board, COMMAND_LIMIT_US, DATA_LIMIT_US, IDENTIFICATION_HZ, RESET_LIMIT_US, Sdhci};
use crate::clock::Clock;
use crate::sd::divider::LOWEST_HZ;
use crate::sd::host::HostError;
use crate::sd::registers::{Word, Words, host_power, interrupt, present};

/// The bits of a data time-out.
const LATE: u32 = interrupt::ERROR | interrupt::DATA_TIMEOUT;

impl<W: Words, C: Clock, B: Board> Sdhci<W, C, B> {
    /// Writes a word, then waits as long as the clock domain crossing needs.
    pub(super) fn write(&self, word: Word, value: u32) {
        self.words.write(word, value);
        if self.card_hz <= IDENTIFICATION_HZ {
            // Four card clocks of half the rate: what is known of the base clock may be wrong, and a write
            // that is lost shows as something else. Before the first clock is set, of the slowest one.
            let hz = if self.card_hz == 0 {
                LOWEST_HZ
            } else {
                self.card_hz / 2
            };
            self.clock.wait_us(4_000_000_u64.div_ceil(u64::from(hz)));
        } else {
            // Other stacks space every write; what this costs is nothing beside a block.
            self.clock.wait_us(1);
        }
    }

    /// Waits until `done` is satisfied with the word, or the limit has passed: then the last value.
    pub(super) fn wait_for(
        &self,
        word: Word,
        limit_us: u64,
        done: impl Fn(u32) -> bool,
    ) -> Result<u32, u32> {
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
    pub(super) fn reset_bits(&self, bits: u32) -> Result<(), HostError> {
        let control = self.words.read(Word::ClockReset);
        self.write(Word::ClockReset, control | bits);
        self.wait_for(Word::ClockReset, RESET_LIMIT_US, |v| v & bits == 0)
            .map_err(|control| HostError::ResetStuck { control })?;
        Ok(())
    }

    /// Waits until CMD, or CMD and DAT, are free.
    pub(super) fn wait_idle(&self, inhibit: u32) -> Result<(), HostError> {
        self.wait_for(Word::Present, COMMAND_LIMIT_US, |v| v & inhibit == 0)
            .map_err(|present| HostError::LinesBusy { present })?;
        Ok(())
    }

    pub(super) fn write_host_control(&self) {
        self.write(Word::HostPower, self.host_control | host_power::POWER_3V3);
    }

    /// Waits until the card is no longer busy: told so, or its data line is free. This controller does
    /// not always tell.
    pub(super) fn wait_busy(&self, index: u8) -> Result<(), HostError> {
        let told = interrupt::TRANSFER_COMPLETE | interrupt::ERRORS;
        let ended = self.clock.wait_until(DATA_LIMIT_US, &mut || {
            self.words.read(Word::IntStatus) & told != 0
                || self.words.read(Word::Present) & present::DAT_INHIBIT == 0
        });
        if !ended {
            return Err(HostError::DataTimeout { index });
        }
        match self.words.read(Word::IntStatus) & told {
            0 => Ok(()),
            _ => self.wait_event(interrupt::TRANSFER_COMPLETE, 0, index),
        }
    }

    /// Waits for an event; any error bit comes first, because QEMU sets both and boards only the error.
    ///
    /// One pair means success: a transfer that is complete was so before its time-out (§2.2.17).
    pub(super) fn wait_event(&self, event: u32, limit_us: u64, index: u8) -> Result<(), HostError> {
        let result = self.wait_for(Word::IntStatus, limit_us, |v| {
            v & (event | interrupt::ERRORS) != 0
        });
        match result {
            Ok(status)
                if status & event & interrupt::TRANSFER_COMPLETE != 0
                    && status & interrupt::ERRORS & !LATE == 0 =>
            {
                self.write(Word::IntStatus, event | status & LATE);
                Ok(())
            }
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
    pub(super) fn explain(&self, status: u32, index: u8) -> HostError {
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
}
