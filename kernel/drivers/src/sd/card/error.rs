//! Why a card cannot be used.

use core::fmt;

use crate::sd::host::HostError;

/// Why a card cannot be used, or a read failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardError {
    /// Nothing answers in the slot.
    NoCard,
    /// CMD8 was echoed wrongly: the card does not take 2.7–3.6 V.
    Voltage {
        /// What the card answered, from CMD8 or ACMD41.
        answer: u32,
    },
    /// The card never finished powering up.
    NeverReady {
        /// The last OCR.
        ocr: u32,
    },
    /// The card is locked with a password.
    Locked,
    /// A CSD structure of a newer kind of card.
    UnknownCsd {
        /// CSD structure version field.
        version: u8,
    },
    /// The card refused a command.
    Refused {
        /// CMD index.
        index: u8,
        /// R1 card status.
        status: u32,
    },
    /// The controller reported a failure.
    Host(HostError),
    /// A read went wrong on every rung of the ladder.
    Unreadable {
        /// First block of the failing piece.
        block: u64,
        /// The last failure.
        cause: Failure,
    },
    /// A read beyond the end of the card.
    OutOfRange {
        /// First block asked for.
        block: u64,
        /// Blocks on the card.
        n_blocks: u64,
    },
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoCard => f.write_str("no card answers in the SD slot: insert one and try again"),
            Self::Voltage { answer } => write!(
                f,
                "the SD card refuses 3.3 V (answer {answer:#010x}): use another card"
            ),
            Self::NeverReady { ocr } => write!(
                f,
                "the SD card never became ready (OCR {ocr:#010x}): re-insert it or use another"
            ),
            Self::Locked => f.write_str("the SD card is locked with a password: unlock it first"),
            Self::UnknownCsd { version } => write!(
                f,
                "the SD card is of a newer kind (CSD version {version}): use a card up to 2 TB"
            ),
            Self::Refused { index, status } => write!(
                f,
                "the SD card refused CMD{index} (status {status:#010x}): re-insert it or use another"
            ),
            Self::Host(error) => write!(f, "SD card: {error}: re-insert it or use another"),
            Self::Unreadable { block, cause } => write!(
                f,
                "SD card block {block} cannot be read: {cause}: re-insert the card or use another"
            ),
            Self::OutOfRange { block, n_blocks } => write!(
                f,
                "SD card block {block} is beyond the card's end ({n_blocks} blocks)"
            ),
        }
    }
}

impl core::error::Error for CardError {}

/// Who reported that a read went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The controller.
    Host(HostError),
    /// The card, in the R1 status of the read command.
    Card {
        /// R1 card status.
        status: u32,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(error) => error.fmt(f),
            Self::Card { status } => write!(f, "the card reports {status:#010x}"),
        }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl From<HostError> for CardError {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}
