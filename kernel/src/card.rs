//! The card slot: which controller serves it, and files on the card as sources of models.
//!
//! **Resources**: hardware.md SD-1 (which controller), SD-4 (power), SD-5 (clock).

use alloc::string::{String, ToString};

use drivers::mmio::Mmio;
use drivers::property::ClockId;
use drivers::sd::registers::Block;
use drivers::sd::sdhci::Board;
use drivers::sd::{CardError, SdCard, Sdhci};
use llm::source::{ModelSource, SourceError};
use storage::{BlockDevice, File, Volume};

use crate::board;
use crate::clock::Clock;

/// A controller with the firmware's part in serving it.
type Host = Sdhci<Mmio<Block>, Clock, SlotPower>;

/// A mounted card.
pub type CardVolume = Volume<Card>;

/// What the firmware does for a slot.
#[derive(Clone, Copy, Debug)]
pub struct SlotPower {
    clock: ClockId,
}

impl Board for SlotPower {
    fn set_expander_gpio(&mut self, gpio: u32, high: bool) -> bool {
        board::mailbox()
            .lock()
            .set_expander_gpio(gpio, high)
            .is_ok()
    }

    fn base_clock_hz(&mut self) -> Option<u32> {
        board::mailbox().lock().clock_rate_hz(self.clock).ok()
    }
}

/// Which controller a card was found on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// EMMC2: a board's card slot.
    Emmc2,
    /// The legacy controller, where QEMU puts its card.
    Legacy,
}

/// A card that answers.
pub struct Card {
    card: SdCard<Host>,
    slot: Slot,
}

impl Card {
    /// The driver, for its counters and its clock.
    pub fn driver(&self) -> &SdCard<Host> {
        &self.card
    }

    /// Where it is.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Starts the card in the board's slot; in QEMU, whose EMMC2 is empty, the one on the legacy
    /// controller.
    pub fn open() -> Result<Card, CardError> {
        match init(Slot::Emmc2) {
            Err(CardError::NoCard) if board::is_emulators_sdhci() => init(Slot::Legacy),
            result => result,
        }
    }
}

fn init(slot: Slot) -> Result<Card, CardError> {
    let (registers, clock) = match slot {
        Slot::Emmc2 => (board::emmc2(), ClockId::Emmc2),
        Slot::Legacy => (board::legacy_sdhci(), ClockId::Emmc),
    };
    let host = Sdhci::new(registers, Clock, SlotPower { clock });
    match SdCard::init(host) {
        Ok(card) => Ok(Card { card, slot }),
        Err((error, _)) => Err(error),
    }
}

impl BlockDevice for Card {
    type Error = CardError;

    fn n_blocks(&self) -> u64 {
        self.card.n_blocks()
    }

    fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), CardError> {
        self.card.read_blocks(first, buf)
    }

    fn buffer_alignment(&self) -> usize {
        boot::cache::LINE_BYTES
    }
}

/// A file on the card, read by the engine.
pub struct CardFile<'v> {
    volume: &'v mut CardVolume,
    file: File,
    failure: Option<String>,
}

impl<'v> CardFile<'v> {
    /// `file` of `volume`.
    pub fn new(volume: &'v mut CardVolume, file: File) -> Self {
        Self {
            volume,
            file,
            failure: None,
        }
    }

    /// What went wrong, in the card's own words: the engine's error has only the place.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

impl ModelSource for CardFile<'_> {
    fn len_bytes(&self) -> u64 {
        self.file.len_bytes()
    }

    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), SourceError> {
        self.volume
            .read_at(&self.file, offset, buf)
            .map_err(|error| {
                self.failure = Some(error.to_string());
                SourceError {
                    what: "the card could not be read",
                    offset,
                }
            })
    }
}
