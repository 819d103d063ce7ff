//! SD commands, the status a card answers with, and its operating conditions.
//!
//! Pure: bits in, facts out. Resources: SD Physical Layer Simplified Specification 6.00, §4.7
//! (commands), §4.9 (responses), §4.10 (card status), §5.1 (OCR).

mod status;

pub use status::{CardState, CardStatus, Ocr};

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
}
