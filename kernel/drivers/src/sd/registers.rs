//! SDHCI register words and their bits.
//!
//! The controller behind the BCM2711's bus loses 8- and 16-bit writes, so the block is declared as
//! 32-bit words and nothing narrower can be written: halves that the specification gives names of
//! their own share a word here. Offsets and bits: SD Host Controller Simplified Specification 3.00,
//! §2.2.

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::ReadWrite;

use crate::mmio::Mmio;

/// One controller: 256 bytes.
#[repr(C)]
pub struct Block([ReadWrite<u32>; 64]);

const _: () = assert!(size_of::<Block>() == 0x100);

/// A register word, by its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Word {
    /// Block size 11:0, block count 31:16.
    BlockSizeCount = 0x04,
    /// Command argument.
    Argument = 0x08,
    /// Transfer mode 15:0, command 31:16. Writing starts the command.
    ModeCommand = 0x0C,
    /// Answer, bits 31:0; three more words follow.
    Response0 = 0x10,
    /// Answer, bits 63:32.
    Response1 = 0x14,
    /// Answer, bits 95:64.
    Response2 = 0x18,
    /// Answer, bits 127:96.
    Response3 = 0x1C,
    /// Data port.
    Data = 0x20,
    /// Present state.
    Present = 0x24,
    /// Host control 7:0, power 15:8.
    HostPower = 0x28,
    /// Clock control 15:0, data time-out 19:16, software reset 26:24.
    ClockReset = 0x2C,
    /// Interrupt status: normal 15:0, error 31:16. Write 1 to clear.
    IntStatus = 0x30,
    /// Which interrupt status bits are latched at all.
    IntEnable = 0x34,
    /// Which of them raise the interrupt line.
    IntSignal = 0x38,
    /// Auto-CMD error status 15:0, host control 2 31:16.
    AutoHost2 = 0x3C,
    /// Capabilities, low word.
    Capabilities = 0x40,
    /// Capabilities, high word.
    CapabilitiesHigh = 0x44,
    /// ADMA error status.
    AdmaError = 0x54,
    /// ADMA descriptor table address.
    AdmaAddr = 0x58,
    /// Slot interrupt status 15:0, version 31:16.
    SlotVersion = 0xFC,
}

/// 32-bit access to a controller's words; the seam for fakes.
pub trait Words {
    /// Reads a word.
    fn read(&self, word: Word) -> u32;
    /// Writes a word.
    fn write(&self, word: Word, value: u32);
}

impl Words for Mmio<Block> {
    #[inline]
    fn read(&self, word: Word) -> u32 {
        self.0[word as usize / 4].get()
    }

    #[inline]
    fn write(&self, word: Word, value: u32) {
        self.0[word as usize / 4].set(value);
    }
}

/// [`Word::ModeCommand`].
pub mod mode_command {
    /// The DMA engine moves the data.
    pub const DMA: u32 = 1 << 0;
    /// The block count is in force.
    pub const BLOCK_COUNT: u32 = 1 << 1;
    /// The controller sends CMD12 after the last block.
    pub const AUTO_CMD12: u32 = 1 << 2;
    /// From card to host.
    pub const READ: u32 = 1 << 4;
    /// More than one block.
    pub const MULTI: u32 = 1 << 5;
    /// Answer of 136 bits.
    pub const RESPONSE_136: u32 = 0b01 << 16;
    /// Answer of 48 bits.
    pub const RESPONSE_48: u32 = 0b10 << 16;
    /// Answer of 48 bits, then busy.
    pub const RESPONSE_48_BUSY: u32 = 0b11 << 16;
    /// Check the answer's CRC.
    pub const CHECK_CRC: u32 = 1 << 19;
    /// Check the answer's index.
    pub const CHECK_INDEX: u32 = 1 << 20;
    /// Data follow.
    pub const DATA: u32 = 1 << 21;
    /// CMD12 by hand.
    pub const TYPE_ABORT: u32 = 0b11 << 22;
    /// Position of the command index.
    pub const INDEX_SHIFT: u32 = 24;
}

/// [`Word::Present`].
pub mod present {
    /// The CMD line is in use.
    pub const CMD_INHIBIT: u32 = 1 << 0;
    /// The DAT lines are in use.
    pub const DAT_INHIBIT: u32 = 1 << 1;
    /// A card is detected. Means nothing on the board: the slot has no detect line.
    pub const CARD_INSERTED: u32 = 1 << 16;
}

/// [`Word::HostPower`].
pub mod host_power {
    /// Four data lines.
    pub const FOUR_LINES: u32 = 1 << 1;
    /// High speed.
    pub const HIGH_SPEED: u32 = 1 << 2;
    /// DMA select 4:3: 32-bit ADMA2.
    pub const ADMA2: u32 = 0b10 << 3;
    /// Bus power on (bit 0 of the byte) at 3.3 V (bits 3:1 = 111).
    pub const POWER_3V3: u32 = 0x0F << 8;
}

/// [`Word::ClockReset`].
pub mod clock_reset {
    /// Internal clock on.
    pub const INTERNAL_ENABLE: u32 = 1 << 0;
    /// Internal clock stable.
    pub const INTERNAL_STABLE: u32 = 1 << 1;
    /// Card clock on.
    pub const CARD_ENABLE: u32 = 1 << 2;
    /// The longest data time-out the counter has. Deadlines are the driver's own.
    pub const LONGEST_TIMEOUT: u32 = 0xE << 16;
    /// Reset everything.
    pub const RESET_ALL: u32 = 1 << 24;
    /// Reset the CMD state machine.
    pub const RESET_CMD: u32 = 1 << 25;
    /// Reset the DAT state machine.
    pub const RESET_DAT: u32 = 1 << 26;
}

/// [`Word::IntStatus`] and [`Word::IntEnable`].
pub mod interrupt {
    /// The command, with its answer, is over.
    pub const COMMAND_COMPLETE: u32 = 1 << 0;
    /// The transfer, or busy, is over.
    pub const TRANSFER_COMPLETE: u32 = 1 << 1;
    /// A block waits in the data port.
    pub const READ_READY: u32 = 1 << 5;
    /// Some error bit is set.
    pub const ERROR: u32 = 1 << 15;
    /// No answer.
    pub const COMMAND_TIMEOUT: u32 = 1 << 16;
    /// Answer's CRC 17, end bit 18, index 19.
    pub const COMMAND_CORRUPT: u32 = 0b111 << 17;
    /// No data.
    pub const DATA_TIMEOUT: u32 = 1 << 20;
    /// Data CRC 21, end bit 22.
    pub const DATA_CORRUPT: u32 = 0b11 << 21;
    /// The automatic CMD12 failed.
    pub const AUTO_CMD: u32 = 1 << 24;
    /// The ADMA engine failed.
    pub const ADMA: u32 = 1 << 25;
    /// Every error bit.
    pub const ERRORS: u32 = 0xFFFF_8000;
    /// What this driver has latched: the three events and errors 25:16.
    pub const LATCHED: u32 = 0x03FF_0000 | COMMAND_COMPLETE | TRANSFER_COMPLETE | READ_READY;
}

/// [`Word::Capabilities`].
pub mod capabilities {
    /// 32-bit ADMA2.
    pub const ADMA2: u32 = 1 << 19;
    /// What QEMU's raspi4b shows on both controllers; the board shows 0x45EE_6432.
    pub const QEMU: u32 = 0x0521_34B4;
}
