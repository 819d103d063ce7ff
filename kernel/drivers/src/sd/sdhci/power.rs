//! Power and reset, up to the identification clock.

use super::{Board, GPIO_SD_PWR_ON, GPIO_VDD_SD_IO_SEL, IDENTIFICATION_HZ, Rails, Sdhci};
use crate::clock::Clock;
use crate::sd::base_clock::{BaseClock, Question};
use crate::sd::host::{HostError, SdHost};
use crate::sd::registers::{Word, Words, capabilities, clock_reset, host_power, interrupt};

/// After bus power, and again after the clock, as Linux has it.
const POWER_SETTLE_US: u64 = 10_000;
const RAIL_SETTLE_US: u64 = 5_000;
/// How long a card is without power before it has forgotten everything.
const POWER_OFF_US: u64 = 50_000;

impl<W: Words, C: Clock, B: Board> Sdhci<W, C, B> {
    /// Power at 3.3 V, every bit of the controller reset, the identification clock.
    pub(super) fn power_up(&mut self) -> Result<(), HostError> {
        self.note_state_as_left();
        self.card_hz = 0;
        self.host_control &= host_power::ADMA2;
        self.board.power_controller();
        self.rails = Rails {
            io_3v3: self.board.set_expander_gpio(GPIO_VDD_SD_IO_SEL, false),
            card_power: self.board.set_expander_gpio(GPIO_SD_PWR_ON, true),
        };
        // Whatever was answered: only QEMU has no rail.
        if self.capabilities() != capabilities::QEMU {
            self.clock.wait_us(RAIL_SETTLE_US);
        }
        self.clock_answers = Question::ALL.map(|question| self.board.base_clock_hz(question));
        self.base_clock = BaseClock::ask(|question| self.clock_answers[question as usize]);

        self.reset_bits(clock_reset::RESET_ALL)?;
        self.write_host_control();
        self.clock.wait_us(POWER_SETTLE_US);
        // No 1.8 V signalling, no UHS mode.
        self.write(Word::AutoHost2, 0);
        self.write(Word::IntSignal, 0);
        self.write(Word::IntEnable, interrupt::LATCHED);
        self.write(Word::IntStatus, u32::MAX);
        self.set_clock_hz(IDENTIFICATION_HZ)?;
        self.clock.wait_us(POWER_SETTLE_US);
        Ok(())
    }

    /// No power for a while: then bus and card have forgotten everything.
    pub(super) fn take_power_away(&mut self) {
        self.card_hz = 0;
        let clock = self.words.read(Word::ClockReset);
        self.write(Word::HostPower, self.host_control);
        self.write(Word::ClockReset, clock & !clock_reset::CARD_ENABLE);
        self.board.set_expander_gpio(GPIO_SD_PWR_ON, false);
        self.board.set_expander_gpio(GPIO_VDD_SD_IO_SEL, false);
        self.clock.wait_us(POWER_OFF_US);
        self.board.set_expander_gpio(GPIO_SD_PWR_ON, true);
        self.clock.wait_us(POWER_SETTLE_US);
        self.write_host_control();
        self.clock.wait_us(POWER_SETTLE_US);
    }
}
