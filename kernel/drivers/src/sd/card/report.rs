//! What the card says of itself, as it said it, for a report about a board.

use core::fmt;

use super::SdCard;
use crate::sd::host::{SdHost, Transfer};
use crate::sd::identity::{Scr, SwitchStatus};

/// The registers of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Operating conditions, from the last ACMD41.
    pub ocr: u32,
    /// Card identification.
    pub cid: u128,
    /// Card-specific data.
    pub csd: u128,
    /// SD configuration, where it could be read.
    pub scr: Option<[u8; Scr::BYTES]>,
    /// The status of the last CMD6, where there was one.
    pub switch_status: Option<[u8; SwitchStatus::BYTES]>,
}

impl Registers {
    /// Bytes in hexadecimal, most significant first.
    pub fn hex(bytes: &[u8]) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")))
    }
}

/// Why data travel by the data port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PioReason {
    /// The controller has no DMA engine that is known here: none was tried.
    #[default]
    NoEngine,
    /// [`super::Modes`] leave DMA out.
    LeftOut,
    /// What came in by DMA was not what the data port gives.
    TrialFailed,
    /// What DMA brings in could not be tried: the card's first blocks cannot be read, or the controller did not
    /// come back from a try.
    TrialUnread,
    /// The memory for the trial, or the descriptors, are where the controller does not reach.
    OutOfReach,
    /// A block that came in by DMA was not what the data port gave, without an error.
    WrongBytes,
    /// Reads failed until DMA was given up.
    GivenUp,
}

impl PioReason {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoEngine => "no_engine",
            Self::LeftOut => "left_out",
            Self::TrialFailed => "trial_failed",
            Self::TrialUnread => "trial_unread",
            Self::OutOfReach => "out_of_reach",
            Self::WrongBytes => "wrong_bytes",
            Self::GivenUp => "given_up",
        }
    }
}

impl<H: SdHost> SdCard<H> {
    /// What the card said of itself when it was started.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Why data travel by the data port, if they do.
    pub fn pio_reason(&self) -> Option<PioReason> {
        (self.transfer() == Transfer::Pio).then_some(self.pio_reason)
    }

    /// Notes why there is no DMA, for a card that was started anew without it.
    pub fn note_pio(&mut self, reason: PioReason) {
        self.pio_reason = reason;
    }
}
