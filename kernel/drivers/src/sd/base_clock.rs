//! The controller's base clock, out of answers that may be missing, zero or bent.
//!
//! Pure. Since 2021-08 the firmware answers the rate of clock 12 with what the cores have asked for, 0
//! if they never did (raspberrypi/firmware#1619), and the measured rate counts pulses during 1 ms
//! (raspberrypi/firmware#656): one stray kHz would cost a whole step of the divider.

use core::fmt;
use core::ops::RangeInclusive;

/// One way to ask the firmware for a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// What it measures (mailbox tag 0x0003_0047).
    Measured,
    /// What it believes (0x0003_0002).
    Rate,
    /// The highest it allows (0x0003_0004).
    Highest,
}

impl Question {
    /// All of them, the most trusted first.
    pub const ALL: [Self; 3] = [Self::Measured, Self::Rate, Self::Highest];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Rate => "rate",
            Self::Highest => "highest",
        }
    }
}

const MHZ: u32 = 1_000_000;
/// Boards have 100, 200 or 250 MHz.
const BELIEVABLE_MHZ: RangeInclusive<u32> = 50..=500;
/// Right for most boards. If the true one is 100 MHz the card runs at half the speed, if it is
/// 250 MHz, a quarter too fast, which cards bear.
const ASSUMED_HZ: u32 = 200 * MHZ;

/// The base clock in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseClock {
    /// Hz.
    pub hz: u32,
    /// The question that was answered; none if the clock is assumed.
    pub answered: Option<Question>,
}

impl BaseClock {
    /// Nothing believable was answered.
    pub const ASSUMED: Self = Self {
        hz: ASSUMED_HZ,
        answered: None,
    };

    /// The first believable answer, to the MHz.
    pub fn ask(mut answer: impl FnMut(Question) -> Option<u32>) -> Self {
        let believed = Question::ALL.into_iter().find_map(|question| {
            let mhz = answer(question)?.checked_add(MHZ / 2)? / MHZ;
            BELIEVABLE_MHZ.contains(&mhz).then_some(Self {
                hz: mhz * MHZ,
                answered: Some(question),
            })
        });
        believed.unwrap_or(Self::ASSUMED)
    }

    /// The question that was answered, or that none was.
    pub fn source(&self) -> &'static str {
        self.answered.map_or("assumed", Question::name)
    }
}

impl fmt::Display for BaseClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MHz ({})", self.hz / MHZ, self.source())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Question::{Highest, Measured, Rate};

    fn of(measured: Option<u32>, rate: Option<u32>, highest: Option<u32>) -> BaseClock {
        BaseClock::ask(|question| match question {
            Measured => measured,
            Rate => rate,
            Highest => highest,
        })
    }

    fn answered(hz: u32, question: Question) -> BaseClock {
        BaseClock {
            hz,
            answered: Some(question),
        }
    }

    #[test]
    fn bent_clocks_are_rounded_to_the_megahertz() {
        for (bent, hz) in [
            (99_999_400, 100_000_000),
            (100_000_496, 100_000_000),
            (200_000_992, 200_000_000),
            (250_000_496, 250_000_000),
        ] {
            assert_eq!(of(Some(bent), None, None), answered(hz, Measured));
        }
    }

    #[test]
    fn the_first_believable_answer_counts() {
        let hz = 200_000_000;
        assert_eq!(of(Some(hz), Some(1), Some(2)), answered(hz, Measured));
        assert_eq!(of(None, Some(hz), Some(2)), answered(hz, Rate));
        assert_eq!(of(Some(0), Some(0), Some(hz)), answered(hz, Highest));
        let absurd = [0, 1, 49_499_999, 500_500_000, 4_000_000_000, u32::MAX];
        for hz in absurd {
            assert_eq!(of(Some(hz), Some(hz), Some(hz)), BaseClock::ASSUMED);
        }
        assert_eq!(of(None, None, None).hz, 200_000_000);
        assert_eq!(of(Some(50_000_000), None, None).hz, 50_000_000);
        assert_eq!(of(Some(500_000_000), None, None).hz, 500_000_000);
    }

    #[test]
    fn a_clock_says_where_it_comes_from() {
        assert_eq!(BaseClock::ASSUMED.to_string(), "200 MHz (assumed)");
        let measured = answered(100_000_000, Measured).to_string();
        assert_eq!(measured, "100 MHz (measured)");
    }
}
