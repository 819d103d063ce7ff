//! SD commands, the status a card answers with, and its operating conditions.
//!
//! Pure: bits in, facts out. Resources: SD Physical Layer Simplified Specification 6.00, §4.7
//! (commands), §4.9 (responses), §4.10 (card status), §5.1 (OCR).

use core::fmt;

/// Bytes in one data block of every card.
pub const BLOCK_BYTES: usize = 512;

/// The shape of a command's answer on the CMD line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseKind {
    /// No answer.
    None,
    /// 48 bits: card status (R1), also R6 and R7, which have the same frame.
    Short,
    /// As `Short`, then the card may hold DAT0 low until it is done (R1b).
    ShortBusy,
    /// 136 bits: CID or CSD (R2).
    Long,
    /// 48 bits without index and CRC: OCR (R3).
    Ocr,
}

/// One command with its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// 0..=63.
    pub index: u8,
    /// The 32-bit argument.
    pub argument: u32,
    /// What the card answers.
    pub response: ResponseKind,
}

impl Command {
    const fn new(index: u8, argument: u32, response: ResponseKind) -> Self {
        Self {
            index,
            argument,
            response,
        }
    }

    /// CMD0: back to idle.
    pub const fn go_idle() -> Self {
        Self::new(0, 0, ResponseKind::None)
    }

    /// CMD2: every card on the bus sends its CID.
    pub const fn all_send_cid() -> Self {
        Self::new(2, 0, ResponseKind::Long)
    }

    /// CMD3: the card publishes its relative address.
    pub const fn send_relative_addr() -> Self {
        Self::new(3, 0, ResponseKind::Short)
    }

    /// CMD6: check or switch function group 1 (access mode) to `function`; 64 bytes of status follow.
    ///
    /// Groups 2 to 6 keep their function (0xF). Group 2 is 0xF too: its power-limit functions came
    /// with UHS.
    pub const fn switch_access_mode(switch: bool, function: u8) -> Self {
        let mode = if switch { 1 << 31 } else { 0 };
        Self::new(6, mode | 0x00FF_FFF0 | function as u32, ResponseKind::Short)
    }

    /// CMD7: select the card. It may be busy after that; CMD13 tells, because this controller does not
    /// tell the end of busy reliably.
    pub const fn select(rca: u16) -> Self {
        Self::new(7, (rca as u32) << 16, ResponseKind::Short)
    }

    /// CMD8: 2.7–3.6 V, check pattern 0xAA. Cards before version 2.00 do not answer.
    pub const fn send_if_cond() -> Self {
        Self::new(8, IF_COND, ResponseKind::Short)
    }

    /// CMD9: send the CSD.
    pub const fn send_csd(rca: u16) -> Self {
        Self::new(9, (rca as u32) << 16, ResponseKind::Long)
    }

    /// CMD12: stop a transfer that Auto-CMD12 did not stop.
    pub const fn stop_transmission() -> Self {
        Self::new(12, 0, ResponseKind::ShortBusy)
    }

    /// CMD13: send the card status.
    pub const fn send_status(rca: u16) -> Self {
        Self::new(13, (rca as u32) << 16, ResponseKind::Short)
    }

    /// CMD16: block length, for byte-addressed cards.
    pub const fn set_block_len(bytes: u32) -> Self {
        Self::new(16, bytes, ResponseKind::Short)
    }

    /// CMD17: read one block at `address` (see [`Addressing`]).
    pub const fn read_single(address: u32) -> Self {
        Self::new(17, address, ResponseKind::Short)
    }

    /// CMD18: read blocks from `address` until stopped.
    pub const fn read_multiple(address: u32) -> Self {
        Self::new(18, address, ResponseKind::Short)
    }

    /// CMD55: the next command is an application command.
    pub const fn app(rca: u16) -> Self {
        Self::new(55, (rca as u32) << 16, ResponseKind::Short)
    }

    /// ACMD6: four data lines.
    pub const fn set_bus_width_4() -> Self {
        Self::new(6, 2, ResponseKind::Short)
    }

    /// ACMD41: 2.7–3.6 V; `high_capacity` announces a host that knows block addresses.
    pub const fn send_op_cond(high_capacity: bool) -> Self {
        let hcs = if high_capacity { 1 << 30 } else { 0 };
        Self::new(41, hcs | 0x00FF_8000, ResponseKind::Ocr)
    }

    /// ACMD51: send the SCR, 8 bytes.
    pub const fn send_scr() -> Self {
        Self::new(51, 0, ResponseKind::Short)
    }

    /// Whether this command only ever ends a transfer.
    pub const fn is_abort(&self) -> bool {
        self.index == 12
    }
}

/// CMD8's argument and the echo that a card of version 2.00 or later answers with.
pub const IF_COND: u32 = 0x1AA;

/// An answer, as the host hands it over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// R1, R3, R6, R7: the 32 bits between index and CRC. R2: unused.
    pub short: u32,
    /// R2: the register with the specification's bit numbers (bit 127 first, bits 7:0 zero).
    pub long: u128,
    /// R1 of the CMD12 that the controller sent by itself; 0 where it sent none.
    pub stop: u32,
}

/// How the argument of a read command counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    /// SDSC: bytes.
    Bytes,
    /// SDHC and SDXC: blocks of 512 bytes.
    Blocks,
}

impl Addressing {
    /// The argument that addresses block `block`, if 32 bits can say it.
    pub fn argument(self, block: u64) -> Option<u32> {
        let address = match self {
            Self::Bytes => block.checked_mul(BLOCK_BYTES as u64)?,
            Self::Blocks => block,
        };
        u32::try_from(address).ok()
    }
}

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

    /// The error bits that concern the command answered.
    pub fn errors(self) -> u32 {
        self.0 & Self::ERRORS
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
    fn arguments_are_those_of_the_specification() {
        assert_eq!(Command::send_if_cond().argument, 0x0000_01AA);
        assert_eq!(Command::send_op_cond(true).argument, 0x40FF_8000);
        assert_eq!(Command::send_op_cond(false).argument, 0x00FF_8000);
        assert_eq!(Command::switch_access_mode(false, 0).argument, 0x00FF_FFF0);
        assert_eq!(Command::switch_access_mode(true, 1).argument, 0x80FF_FFF1);
        assert_eq!(Command::select(0xB368).argument, 0xB368_0000);
        assert_eq!(Command::set_bus_width_4().argument, 2);
    }

    #[test]
    fn addresses_count_bytes_or_blocks() {
        assert_eq!(Addressing::Bytes.argument(3), Some(1536));
        assert_eq!(Addressing::Blocks.argument(3), Some(3));
        let last_of_2_gib = (2u64 << 30) / 512 - 1;
        assert_eq!(Addressing::Bytes.argument(last_of_2_gib), Some(0x7FFF_FE00));
        assert_eq!(Addressing::Bytes.argument(1 << 23), None);
        assert_eq!(Addressing::Blocks.argument(1 << 32), None);
    }

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
