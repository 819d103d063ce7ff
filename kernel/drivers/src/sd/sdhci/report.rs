//! What the controller says of itself, for a report about a board.

use super::{Board, Sdhci};
use crate::clock::Clock;
use crate::sd::adma::DmaMap;
use crate::sd::base_clock::BaseClock;
use crate::sd::registers::{Word, Words, capabilities, present};

/// Which rails answered when the card was last powered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rails {
    /// The I/O rail was set to 3.3 V.
    pub io_3v3: bool,
    /// The card's power was switched on.
    pub card_power: bool,
}

/// The words that say in which state a controller is. Reading them has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// [`Word::Present`].
    pub present: u32,
    /// [`Word::HostPower`].
    pub host_power: u32,
    /// [`Word::ClockReset`].
    pub clock_reset: u32,
    /// [`Word::AutoHost2`].
    pub auto_host2: u32,
}

impl State {
    fn read(words: &impl Words) -> Self {
        Self {
            present: words.read(Word::Present),
            host_power: words.read(Word::HostPower),
            clock_reset: words.read(Word::ClockReset),
            auto_host2: words.read(Word::AutoHost2),
        }
    }
}

impl<W: Words, C: Clock, B: Board> Sdhci<W, C, B> {
    /// The low capability word: what the controller says it can do.
    pub fn capabilities(&self) -> u32 {
        self.words.read(Word::Capabilities)
    }

    /// The high capability word: speeds and voltages that this driver does not use.
    pub fn capabilities_high(&self) -> u32 {
        self.words.read(Word::CapabilitiesHigh)
    }

    /// The version word's upper half.
    pub fn version(&self) -> u32 {
        self.words.read(Word::SlotVersion) >> 16
    }

    /// The present state word.
    pub fn present(&self) -> u32 {
        self.words.read(Word::Present)
    }

    /// The state that it is in.
    pub fn state(&self) -> State {
        State::read(&self.words)
    }

    /// The state before its first reset here: how the firmware has left it, which had read a card by then.
    pub fn state_as_left(&self) -> Option<State> {
        self.as_left
    }

    pub(super) fn note_state_as_left(&mut self) {
        if self.as_left.is_none() {
            self.as_left = Some(self.state());
        }
    }

    /// This is QEMU's raspi4b and nothing is plugged into this controller.
    ///
    /// Only then may a caller look at the legacy controller: on a board the slot is EMMC2's, and its
    /// detect bit means nothing.
    pub fn is_empty_in_qemu(&self) -> bool {
        self.capabilities() == capabilities::QEMU && self.present() & present::CARD_INSERTED == 0
    }

    /// The base clock in use; assumed before the first reset.
    pub fn base_clock(&self) -> BaseClock {
        self.base_clock
    }

    /// What the firmware answered at the last reset to each of [`Question::ALL`].
    ///
    /// [`Question::ALL`]: crate::sd::base_clock::Question::ALL
    pub fn clock_answers(&self) -> [Option<u32>; 3] {
        self.clock_answers
    }

    /// Which rails answered at the last reset.
    pub fn rails(&self) -> Rails {
        self.rails
    }

    /// Whether the controller has a DMA engine that this driver can use.
    pub fn can_dma(&self) -> bool {
        self.capabilities() & capabilities::ADMA2 != 0
    }

    /// How the controller sees memory, while transfers go by DMA.
    pub fn dma_map(&self) -> Option<DmaMap> {
        self.dma
    }
}
