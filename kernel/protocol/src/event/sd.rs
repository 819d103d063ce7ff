//! The card slot: what controller and card say of themselves, and how fast the card is read.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;
use core::ops::Add;
use serde::{Deserialize, Serialize};

/// The card slot. Registers are in hexadecimal, as they were read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sd {
    /// The controller's name.
    pub controller: String,
    /// The upper half of its version word.
    pub controller_version: String,
    /// Its capability words, low and high.
    pub capabilities: [String; 2],
    /// Its words before its first reset: as the firmware has left them.
    pub words_as_left: Option<SdWords>,
    /// Its words now.
    pub words: SdWords,
    /// What the firmware says of the base clock.
    pub base_clock: BaseClock,
    /// Whether the firmware has set the I/O rail to 3.3 V.
    pub io_3v3: bool,
    /// Whether the firmware has switched the card's power on.
    pub card_power: bool,
    /// The card, where one could be started.
    pub card: Option<SdCard>,
}

/// Words of the controller, by their offsets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SdWords {
    /// Present state.
    #[serde(rename = "0x24")]
    pub present: String,
    /// Host control and power.
    #[serde(rename = "0x28")]
    pub host_power: String,
    /// Clock, time-out and reset.
    #[serde(rename = "0x2c")]
    pub clock_reset: String,
    /// Auto-CMD errors and host control 2.
    #[serde(rename = "0x3c")]
    pub auto_host2: String,
}

/// The controller's base clock. What is not answered, or answered with 0, is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BaseClock {
    /// What the firmware measures.
    pub measured_hz: Option<u32>,
    /// What it believes.
    pub rate_hz: Option<u32>,
    /// The highest that it allows.
    pub highest_hz: Option<u32>,
    /// What is reckoned with.
    pub hz: u32,
    /// Which of the answers that is: `measured`, `rate`, `highest`, or `assumed`.
    pub source: Cow<'static, str>,
}

/// A card that was started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SdCard {
    /// Operating conditions.
    pub ocr: String,
    /// Card identification.
    pub cid: String,
    /// Card-specific data.
    pub csd: String,
    /// SD configuration, where it could be read.
    pub scr: Option<String>,
    /// Status of the last CMD6, where there was one.
    pub switch_status: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// The clock in force.
    pub clock_hz: u32,
    /// Data lines in use.
    pub data_lines: u8,
    /// Whether it was switched to high speed.
    pub high_speed: bool,
    /// How loads read it.
    pub transfer: SdTransfer,
    /// How the DMA engine sees memory: `identity` or `alias`.
    pub dma_map: Option<Cow<'static, str>>,
    /// Why it is not read by DMA: `no_engine`, `left_out`, `trial_failed`, `trial_unread`, `out_of_reach`, `wrong_bytes`, `given_up`.
    pub pio_reason: Option<Cow<'static, str>>,
    /// What went wrong since the board was started.
    #[serde(flatten)]
    pub errors: SdErrors,
}

/// Reads that went wrong and were put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SdErrors {
    /// Reads repeated.
    pub retries: u32,
    /// Of the failures: wrong CRC or end bit.
    pub crc_errors: u32,
    /// Of the failures: time-outs.
    pub timeouts: u32,
    /// Blocks that DMA brought in wrongly without an error.
    #[serde(default)]
    pub mismatches: u32,
}

impl Add for SdErrors {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            retries: self.retries + other.retries,
            crc_errors: self.crc_errors + other.crc_errors,
            timeouts: self.timeouts + other.timeouts,
            mismatches: self.mismatches + other.mismatches,
        }
    }
}

/// How data travel from the card to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SdTransfer {
    /// The controller writes memory.
    Dma,
    /// A core reads the data port.
    #[default]
    Pio,
}

impl fmt::Display for SdTransfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dma => "DMA",
            Self::Pio => "PIO",
        })
    }
}

/// A measurement of reads of the card in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SdRead {
    /// In which way.
    pub transfer: SdTransfer,
    /// Bytes that were read, from the card's first block on.
    pub read_bytes: u64,
    /// Whether an emulator's clock took the time.
    pub emulated: bool,
    /// What the reads took.
    pub read_s: f64,
    /// On a board, 10⁶ bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mb_per_s: Option<f64>,
    /// What went wrong meanwhile.
    #[serde(flatten)]
    pub errors: SdErrors,
    /// Bytes that were compared with those of the other way.
    pub compared_bytes: u64,
    /// How many of them differ.
    pub differing_bytes: u64,
    /// The first byte of the card that differs.
    pub first_difference: Option<u64>,
    /// Version of the firmware, with its commit.
    pub version: String,
    /// The board's revision code, where there is one.
    #[serde(with = "crate::facts::revision")]
    pub revision: Option<u32>,
}
