//! Why a card cannot be used.

use crate::sd::host::HostError;
use crate::sd::protocol::CardStatus;
use crate::sd::retry::Cause;

/// Why a card cannot be used, or a read failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CardError {
    /// Nothing answers in the slot.
    #[error("no card answers in the SD slot: insert one and try again")]
    NoCard,
    /// CMD8 was echoed wrongly: the card does not take 2.7–3.6 V.
    #[error("the SD card refuses 3.3 V (answer {answer:#010x}): use another card")]
    Voltage {
        /// What the card answered, from CMD8 or ACMD41.
        answer: u32,
    },
    /// The card never finished powering up.
    #[error("the SD card never became ready (OCR {ocr:#010x}): re-insert it or use another")]
    NeverReady {
        /// The last OCR.
        ocr: u32,
    },
    /// The card is locked with a password.
    #[error("the SD card is locked with a password: unlock it first")]
    Locked,
    /// A CSD structure of a newer kind of card.
    #[error("the SD card is of a newer kind (CSD version {version}): use a card up to 2 TB")]
    UnknownCsd {
        /// CSD structure version field.
        version: u8,
    },
    /// The card refused a command.
    #[error("the SD card refused CMD{index} (status {status:#010x}): re-insert it or use another")]
    Refused {
        /// CMD index.
        index: u8,
        /// R1 card status.
        status: u32,
    },
    /// The controller reported a failure.
    #[error("SD card: {0}: re-insert it or use another")]
    Host(#[from] HostError),
    /// A read went wrong on every rung of the ladder.
    #[error("SD card block {block} cannot be read: {cause}: re-insert the card or use another")]
    Unreadable {
        /// First block of the failing piece.
        block: u64,
        /// The last failure.
        cause: Failure,
    },
    /// A block that came in by DMA was not what the data port gives: nothing that came in so is to be trusted.
    #[error(
        "DMA brought in SD card block {block} wrongly, so that nothing read so far can be trusted: \
         try again, the card is read without DMA from now on"
    )]
    WrongByDma {
        /// The block.
        block: u64,
    },
    /// The card that came back after a failure is another one.
    #[error("the SD card was exchanged while it was read: try again")]
    Exchanged,
    /// A read beyond the end of the card.
    #[error("SD card block {block} is beyond the card's end ({n_blocks} blocks)")]
    OutOfRange {
        /// First block asked for.
        block: u64,
        /// Blocks on the card.
        n_blocks: u64,
    },
}

/// Who reported that a read went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The controller.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A block that came in by DMA is not what the data port gives.
    #[error("DMA brought in something else than the data port")]
    Mismatch {
        /// The block.
        block: u64,
    },
    /// The card, in the R1 status of the read command.
    #[error("the card reports {status:#010x}")]
    Card {
        /// R1 card status.
        status: u32,
    },
}

impl Failure {
    /// What it points at.
    pub(super) fn cause(&self) -> Cause {
        match self {
            Self::Card { status } if CardStatus(*status).is_medium() => Cause::Medium,
            Self::Host(HostError::CommandCorrupt { .. } | HostError::DataCorrupt { .. })
            | Self::Card { .. } => Cause::Signal,
            Self::Host(_) | Self::Mismatch { .. } => Cause::Transport,
        }
    }
}
