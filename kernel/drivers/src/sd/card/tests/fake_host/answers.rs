//! What the card answers to a command.

use super::{FakeHost, TRAN};
use crate::sd::host::HostError;
use crate::sd::protocol::{Command, Response};

impl FakeHost {
    pub(super) fn answer(&mut self, command: Command) -> Result<Response, HostError> {
        let index = command.index;
        let silence = Err(HostError::CommandTimeout { index });
        let name = self.log.last().cloned().unwrap_or_default();
        let refusal = |(part, left): &&mut (&str, usize)| name.starts_with(*part) && *left > 0;
        if let Some((_, left)) = self.refusals.iter_mut().find(refusal) {
            *left -= 1;
            self.app = false;
            return Err(HostError::DataTimeout { index });
        }
        let app = std::mem::take(&mut self.app);
        let short = |short| {
            Ok(Response {
                short,
                ..Response::default()
            })
        };
        if index == 0 {
            self.idle_since_us = self.time_us.get();
            return Ok(Response::default());
        }
        self.has_reset_itself &= index != 3;
        let selected = command.argument >> 16 == 0xB368 || matches!(index, 17 | 18);
        let is_forgotten = self.has_reset_itself && selected;
        let is_early = self.time_us.get() < self.idle_since_us + self.needs_us;
        if is_early || !self.present || self.wedged > 0 || is_forgotten {
            return silence;
        }
        match (app, index) {
            (_, 8) if !self.version_2 => silence,
            (_, 8) => short(command.argument),
            (_, 55) => {
                self.app = true;
                // A card before version 2.00 still reports CMD8 as illegal here.
                short(if self.version_2 { 0x120 } else { 0x0040_0120 })
            }
            (true, 41) if self.polls_until_ready > 0 => {
                self.polls_until_ready -= 1;
                short(self.ocr_voltages)
            }
            (true, 41) => {
                let ccs = if self.high_capacity { 1 << 30 } else { 0 };
                short(1 << 31 | ccs | self.ocr_voltages)
            }
            (_, 2) => Ok(Response {
                long: 0x0353_4453_5533_3247_8012_3456_7801_5700 + (self.serial << 24),
                ..Response::default()
            }),
            (_, 3) => short(0xB368_0500),
            (_, 9) => Ok(Response {
                long: self.csd,
                ..Response::default()
            }),
            (_, 7) => short(if self.locked { 1 << 25 | 0x700 } else { 0x700 }),
            (_, 13) => short(self.states.pop_front().unwrap_or(TRAN)),
            _ => short(TRAN),
        }
    }
}
