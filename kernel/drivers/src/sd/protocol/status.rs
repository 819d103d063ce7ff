//! What a card says of its state: operating conditions and R1.

use core::fmt;

use super::Addressing;

/// The answer to ACMD41.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ocr(pub u32);

impl Ocr {
    /// The card has finished powering up; the other bits are valid only then.
    pub fn ready(self) -> bool {
        self.0 & 1 << 31 != 0
    }

    /// Card capacity status: set means block addresses.
    pub fn addressing(self) -> Addressing {
        if self.0 & 1 << 30 != 0 {
            Addressing::Blocks
        } else {
            Addressing::Bytes
        }
    }

    /// Whether 3.2–3.4 V, this board's rail, is in the card's range.
    pub fn accepts_3v3(self) -> bool {
        self.0 & (1 << 20 | 1 << 21) != 0
    }
}

/// Where a card is in its state diagram (card status bits 12:9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardState {
    /// Selected, ready for a transfer.
    Transfer,
    /// Sending data.
    SendingData,
    /// Receiving data or programming.
    Busy,
    /// Any state of the identification phase, stand-by or disconnected.
    NotSelected,
}

/// R1: the 32-bit card status.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CardStatus(pub u32);

impl CardStatus {
    /// Bits that report the command itself as failed. Bit 25 (locked) is a state and bits 23:22
    /// belong to the command before; see [`CardStatus::PREVIOUS`].
    const ERRORS: u32 = 0xFD39_8008;
    /// CRC error and illegal command of the *previous* command.
    const PREVIOUS: u32 = 0x00C0_0000;
    const LOCKED: u32 = 1 << 25;
    const OUT_OF_RANGE: u32 = 1 << 31;
    /// CARD_ECC_FAILED, CC_ERROR, ERROR.
    const MEDIUM: u32 = 1 << 21 | 1 << 20 | 1 << 19;

    /// The error bits that concern the command answered.
    pub fn errors(self) -> u32 {
        self.0 & Self::ERRORS
    }

    /// The card's memory or its own controller has failed, not the lines to it.
    pub fn is_medium(self) -> bool {
        self.0 & Self::MEDIUM != 0
    }

    /// The error bits of an answer to CMD12: a transfer that ends with the card's last block may be
    /// reported as having gone beyond it.
    pub fn stop_errors(self) -> u32 {
        self.errors() & !Self::OUT_OF_RANGE
    }

    /// The error bits that concern the command before this one.
    pub fn previous_errors(self) -> u32 {
        self.0 & Self::PREVIOUS
    }

    /// The card is locked by a password.
    pub fn locked(self) -> bool {
        self.0 & Self::LOCKED != 0
    }

    /// The current state.
    pub fn state(self) -> CardState {
        match self.0 >> 9 & 0xF {
            4 => CardState::Transfer,
            5 => CardState::SendingData,
            6 | 7 => CardState::Busy,
            _ => CardState::NotSelected,
        }
    }

    /// Ready for data and in the transfer state.
    pub fn ready_for_transfer(self) -> bool {
        self.state() == CardState::Transfer && self.0 & 1 << 8 != 0
    }
}

impl fmt::Debug for CardStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CardStatus({:#010x}, {:?})", self.0, self.state())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operating_conditions() {
        let busy = Ocr(0x00FF_8000);
        assert!(!busy.ready());
        let high_capacity = Ocr(0xC0FF_8000);
        assert!(high_capacity.ready() && high_capacity.accepts_3v3());
        assert_eq!(high_capacity.addressing(), Addressing::Blocks);
        assert_eq!(Ocr(0x80FF_FF00).addressing(), Addressing::Bytes);
        assert!(!Ocr(0x8000_8000).accepts_3v3());
    }

    #[test]
    fn status_splits_errors_states_and_the_previous_command() {
        let good = CardStatus(0x0000_0900);
        assert_eq!(good.state(), CardState::Transfer);
        assert!(good.ready_for_transfer());
        assert_eq!(good.errors() | good.previous_errors(), 0);
        assert_eq!(CardStatus(0x0000_0B00).state(), CardState::SendingData);
        assert_eq!(CardStatus(0x0000_0E00).state(), CardState::Busy);
        assert_eq!(CardStatus(0x0000_0700).state(), CardState::NotSelected);
        assert!(!CardStatus(0x0000_0800).ready_for_transfer());
        let out_of_range = CardStatus(0x8000_0900);
        assert_eq!(out_of_range.errors(), 1 << 31);
        assert_eq!(out_of_range.stop_errors(), 0);
        assert_eq!(CardStatus(0x8020_0900).stop_errors(), 1 << 21);
        let illegal_before = CardStatus(0x0040_0120);
        assert_eq!(
            (illegal_before.errors(), illegal_before.previous_errors()),
            (0, 1 << 22)
        );
        assert!(CardStatus(1 << 25).locked());
        assert_eq!(CardStatus(1 << 25).errors(), 0);
    }
}
