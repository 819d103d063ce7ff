//! What a card needs of a host controller.
//!
//! [`SdHost`] is the seam between the card and the silicon: tests script it, [`super::Sdhci`]
//! implements it on registers.

use super::adma::DmaMap;
use super::protocol::{Command, Response};
pub use crate::clock::Clock;

/// Why a command or a transfer failed, as the controller saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// No answer on the CMD line.
    #[error("no answer to CMD{index}")]
    CommandTimeout {
        /// CMD index.
        index: u8,
    },
    /// The answer's CRC, end bit or index was wrong.
    #[error("garbled answer to CMD{index} (status {status:#010x})")]
    CommandCorrupt {
        /// CMD index.
        index: u8,
        /// The controller's interrupt status.
        status: u32,
    },
    /// Data did not come in time.
    #[error("no data after CMD{index}")]
    DataTimeout {
        /// CMD index.
        index: u8,
    },
    /// The CRC or end bit of a data block was wrong.
    #[error("CRC error in data of CMD{index} (status {status:#010x})")]
    DataCorrupt {
        /// CMD index.
        index: u8,
        /// The controller's interrupt status.
        status: u32,
    },
    /// The command that the controller sends by itself after a transfer failed.
    #[error("the automatic CMD12 failed (status {status:#06x})")]
    AutoStop {
        /// The controller's Auto-CMD error status.
        status: u32,
    },
    /// The controller's DMA engine stopped.
    #[error("the DMA engine stopped (status {status:#x})")]
    Dma {
        /// The controller's ADMA error status.
        status: u32,
    },
    /// Any other error bit.
    #[error("the SD controller reports {status:#010x}")]
    Controller {
        /// The controller's interrupt status.
        status: u32,
    },
    /// CMD or DAT stayed in use.
    #[error("the SD lines stay busy (state {present:#010x})")]
    LinesBusy {
        /// The controller's present state.
        present: u32,
    },
    /// A reset bit did not clear.
    #[error("the SD controller does not reset ({control:#010x})")]
    ResetStuck {
        /// The controller's clock, timeout and reset word.
        control: u32,
    },
    /// The internal clock did not become stable.
    #[error("the SD clock does not settle ({control:#010x})")]
    ClockUnstable {
        /// The controller's clock, timeout and reset word.
        control: u32,
    },
    /// The base clock cannot be divided down to what a card needs.
    #[error("the SD base clock of {base_hz} Hz cannot be divided to 400 kHz")]
    BaseClock {
        /// Hz.
        base_hz: u32,
    },
}

impl HostError {
    /// No card answered, as opposed to a garbled answer.
    pub fn is_silence(&self) -> bool {
        matches!(self, Self::CommandTimeout { .. })
    }
}

/// What somebody at the console should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Notice {
    /// A read is being repeated for longer than one waits in silence.
    #[error("the SD card is slow to answer at block {block}: still trying")]
    Slow {
        /// First block of the read.
        block: u64,
    },
    /// A controller that can write memory does not do so, or not rightly.
    #[error("the SD card is read without DMA: loading takes longer")]
    WithoutDma,
    /// The clock was halved after errors on the lines.
    #[error(
        "the SD card's clock is lowered to {clock_hz} Hz after errors on its lines: loading takes longer"
    )]
    HalfClock {
        /// The new one.
        clock_hz: u32,
    },
}

/// How data travels from the controller to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// The core reads the data port.
    Pio,
    /// The controller writes memory.
    Adma2,
}

/// One SD host controller.
pub trait SdHost: Clock {
    /// Powers the card at 3.3 V and starts the identification clock on one data line.
    fn reset(&mut self) -> Result<(), HostError>;

    /// Takes the card's power away and gives it back: what brings a card back that is wedged, or that
    /// was left at 1.8 V. A [`SdHost::reset`] must follow.
    fn cycle_power(&mut self);

    /// Sends a command without data; waits for the answer, and for the end of busy where there is one.
    fn command(&mut self, command: Command) -> Result<Response, HostError>;

    /// Sends a command and reads `buf`, in blocks of `block_bytes`.
    ///
    /// `block_bytes` is 8, 64 or 512 and divides `buf.len()`. With more than one block the
    /// controller stops the card by itself (Auto-CMD12), and the card's answer to that is in
    /// [`Response::stop`].
    fn read(
        &mut self,
        command: Command,
        block_bytes: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError>;

    /// As [`SdHost::read`], by the data port, whatever [`SdHost::transfer`] says.
    fn read_by_port(
        &mut self,
        command: Command,
        block_bytes: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError>;

    /// Says what somebody at the console should know while a read goes on.
    fn tell(&mut self, notice: Notice);

    /// Sets the card clock to the fastest rate that is at most `max_hz`; returns it. Timing that
    /// [`SdHost::set_high_speed`] asked for changes while the clock stands still.
    fn set_clock_hz(&mut self, max_hz: u32) -> Result<u32, HostError>;

    /// Uses four data lines.
    fn set_four_lines(&mut self);

    /// Samples as high-speed cards drive, from the next [`SdHost::set_clock_hz`] on.
    fn set_high_speed(&mut self, on: bool);

    /// Clears every status bit and resets the CMD and DAT state machines.
    fn reset_lines(&mut self) -> Result<(), HostError>;

    /// The most blocks that one command can read.
    fn max_blocks(&self) -> usize;

    /// How data travels now.
    fn transfer(&self) -> Transfer;

    /// Lets the controller write memory from now on, if it can. Whoever calls this compares what comes
    /// in with what PIO gives before relying on it: see [`super::SdCard::adopt_dma`].
    fn use_dma(&mut self, map: DmaMap) -> bool;

    /// Whether `buf` can be filled the way data travel now; if not, the core reads the data port.
    fn is_direct(&self, buf: &[u8]) -> bool;

    /// Gives DMA up; the core reads the data port from now on.
    fn use_pio(&mut self);
}
