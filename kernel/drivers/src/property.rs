//! The property tags that this firmware asks, with their units.
//!
//! **Resources**: Raspberry Pi firmware wiki, "Mailbox property interface"; docs/hardware.md MB-1 for what
//! board and QEMU answer. Setting a clock echoes the request, so that nothing here claims a rate that
//! was not measured.

use core::ops::Range;

use crate::clock::Clock;
use crate::dma::Caches;
use crate::mailbox::{Doorbell, Error, Mailbox, VALUE_WORDS};

const FIRMWARE_REVISION: u32 = 0x0000_0001;
const BOARD_REVISION: u32 = 0x0001_0002;
const BOARD_SERIAL: u32 = 0x0001_0004;
const ARM_MEMORY: u32 = 0x0001_0005;
const SET_POWER_STATE: u32 = 0x0002_8001;
/// Power domain of the SD controllers.
const SD_CARD: u32 = 0;
/// On, and wait until it is.
const ON_AND_STABLE: u32 = 0b11;
const CLOCK_RATE: u32 = 0x0003_0002;
const MAX_CLOCK_RATE: u32 = 0x0003_0004;
const MIN_CLOCK_RATE: u32 = 0x0003_0007;
const TEMPERATURE: u32 = 0x0003_0006;
const THROTTLED: u32 = 0x0003_0046;
const MEASURED_CLOCK_RATE: u32 = 0x0003_0047;
const SET_CLOCK_STATE: u32 = 0x0003_8001;
const SET_CLOCK_RATE: u32 = 0x0003_8002;
const SET_EXPANDER_GPIO: u32 = 0x0003_8041;
const COMMAND_LINE: u32 = 0x0005_0001;

/// A clock that the firmware manages; the numbers are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ClockId {
    /// The legacy SD controller.
    Emmc = 1,
    /// The PL011s.
    Uart = 2,
    /// The four cores.
    Arm = 3,
    /// The VideoCore.
    Core = 4,
    /// SDRAM.
    Sdram = 8,
    /// The SD controller of the card slot.
    Emmc2 = 12,
}

/// What holds the clocks back now (low half) and what has since the start (high half).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttled(pub u32);

impl Throttled {
    /// The supply is below 4.63 V now.
    pub const fn under_voltage(self) -> bool {
        self.0 & 1 != 0
    }

    /// Any limit is in force now.
    pub const fn is_limited(self) -> bool {
        self.0 & 0xF != 0
    }

    /// Any limit has been in force since the start.
    pub const fn was_limited(self) -> bool {
        self.0 & 0xF_0000 != 0
    }
}

impl<D: Doorbell, C: Clock, K: Caches> Mailbox<D, C, K> {
    /// When the firmware was built, as a Unix time.
    ///
    /// # Errors
    /// No answer.
    pub fn firmware_revision(&mut self) -> Result<u32, Error> {
        self.ask_all(FIRMWARE_REVISION, &[]).map(|[time]| time)
    }

    /// The board's revision code.
    ///
    /// # Errors
    /// No answer.
    pub fn board_revision(&mut self) -> Result<u32, Error> {
        self.ask_all(BOARD_REVISION, &[]).map(|[code]| code)
    }

    /// The board's serial number.
    ///
    /// # Errors
    /// No answer.
    pub fn board_serial(&mut self) -> Result<u64, Error> {
        self.ask_all(BOARD_SERIAL, &[])
            .map(|[low, high]| u64::from(high) << 32 | u64::from(low))
    }

    /// The cores' RAM below 1 GiB. The firmware cannot see what is above.
    ///
    /// # Errors
    /// No answer.
    pub fn arm_memory(&mut self) -> Result<Range<u64>, Error> {
        let [base, size] = self.ask_all(ARM_MEMORY, &[])?;
        Ok(u64::from(base)..u64::from(base) + u64::from(size))
    }

    /// What the firmware believes `clock` runs at, in Hz.
    ///
    /// # Errors
    /// No answer.
    pub fn clock_rate_hz(&mut self, clock: ClockId) -> Result<u32, Error> {
        self.rate(CLOCK_RATE, clock)
    }

    /// The highest rate of `clock`, in Hz.
    ///
    /// # Errors
    /// No answer.
    pub fn max_clock_rate_hz(&mut self, clock: ClockId) -> Result<u32, Error> {
        self.rate(MAX_CLOCK_RATE, clock)
    }

    /// The lowest rate of `clock`, in Hz.
    ///
    /// # Errors
    /// No answer.
    pub fn min_clock_rate_hz(&mut self, clock: ClockId) -> Result<u32, Error> {
        self.rate(MIN_CLOCK_RATE, clock)
    }

    /// What the firmware has measured `clock` to run at, in Hz. QEMU does not know.
    ///
    /// # Errors
    /// No answer.
    pub fn measured_clock_rate_hz(&mut self, clock: ClockId) -> Result<u32, Error> {
        self.rate(MEASURED_CLOCK_RATE, clock)
    }

    /// Switches a clock on or off; the answer is an echo and says nothing.
    ///
    /// # Errors
    /// No answer.
    pub fn set_clock_state(&mut self, clock: ClockId, on: bool) -> Result<(), Error> {
        self.ask_all(SET_CLOCK_STATE, &[clock as u32, u32::from(on)])
            .map(|[_, _]| ())
    }

    /// Asks for a rate; the answer is an echo and says nothing.
    ///
    /// # Errors
    /// No answer.
    pub fn set_clock_rate_hz(&mut self, clock: ClockId, hz: u32) -> Result<(), Error> {
        // third word 0: the voltage and the other clocks follow ("do not skip turbo")
        self.ask_all(SET_CLOCK_RATE, &[clock as u32, hz, 0])
            .map(|[_, _]| ())
    }

    /// Temperature of the chip, in thousandths of a degree Celsius.
    ///
    /// # Errors
    /// No answer.
    pub fn temperature_milli_c(&mut self) -> Result<u32, Error> {
        self.ask_all(TEMPERATURE, &[0]).map(|[_, value]| value)
    }

    /// What holds the clocks back.
    ///
    /// # Errors
    /// No answer.
    pub fn throttled(&mut self) -> Result<Throttled, Error> {
        self.ask_all(THROTTLED, &[0]).map(|[bits]| Throttled(bits))
    }

    /// Switches the SD controllers on and waits until they are.
    ///
    /// # Errors
    /// No answer.
    pub fn power_sd_card(&mut self) -> Result<(), Error> {
        self.ask_all(SET_POWER_STATE, &[SD_CARD, ON_AND_STABLE])
            .map(|[_, _]| ())
    }

    /// Sets a line of the GPIO expander (128–135). QEMU does not know it.
    ///
    /// # Errors
    /// No answer, or a status other than 0.
    pub fn set_expander_gpio(&mut self, gpio: u32, high: bool) -> Result<(), Error> {
        self.command(SET_EXPANDER_GPIO, &[gpio, u32::from(high)])
    }

    /// Copies the kernel command line into `line` and returns its length in bytes; what does not fit
    /// is left out.
    ///
    /// # Errors
    /// No answer.
    pub fn command_line(&mut self, line: &mut [u8]) -> Result<usize, Error> {
        let mut words = [0; VALUE_WORDS];
        let bytes = self.ask(COMMAND_LINE, &[], &mut words)?;
        let text = words.iter().flat_map(|word| word.to_le_bytes());
        let text = text.take(bytes).take_while(|&byte| byte != 0);
        let mut len = 0;
        for (to, byte) in line.iter_mut().zip(text) {
            *to = byte;
            len += 1;
        }
        Ok(len)
    }

    fn rate(&mut self, tag: u32, clock: ClockId) -> Result<u32, Error> {
        self.ask_all(tag, &[clock as u32])
            .and_then(|[_, hz]| match hz {
                // the firmware's way of not knowing the clock
                0 => Err(Error::Unanswered { tag }),
                hz => Ok(hz),
            })
    }
}

#[cfg(test)]
#[path = "property_tests.rs"]
mod tests;
