//! The PL011's registers (DDI 0183, §3.3).

#![allow(missing_docs, reason = "the macros make items that cannot carry any")]

use tock_registers::registers::{ReadOnly, ReadWrite, WriteOnly};
use tock_registers::{register_bitfields, register_structs};

register_bitfields! {
    u32,

    /// Data register.
    pub DR [
        /// Bytes are lost before this one: the FIFO was full.
        OE OFFSET(11) NUMBITS(1) [],
        /// The line was held low: a break.
        BE OFFSET(10) NUMBITS(1) [],
        /// Wrong parity.
        PE OFFSET(9) NUMBITS(1) [],
        /// No stop bit: usually a wrong baud rate.
        FE OFFSET(8) NUMBITS(1) [],
        /// The byte.
        DATA OFFSET(0) NUMBITS(8) []
    ],

    /// Flag register.
    pub FR [
        /// Transmit FIFO is full.
        TXFF OFFSET(5) NUMBITS(1) [],
        /// Receive FIFO is empty.
        RXFE OFFSET(4) NUMBITS(1) [],
        /// Something is being sent.
        BUSY OFFSET(3) NUMBITS(1) []
    ],

    /// Line control. Writing it latches the two divisor registers.
    pub LCRH [
        /// Word length.
        WLEN OFFSET(5) NUMBITS(2) [
            Eight = 0b11
        ],
        /// FIFOs on.
        FEN OFFSET(4) NUMBITS(1) []
    ],

    /// Control.
    pub CR [
        /// Receiver on.
        RXE OFFSET(9) NUMBITS(1) [],
        /// Transmitter on.
        TXE OFFSET(8) NUMBITS(1) [],
        /// UART on.
        UARTEN OFFSET(0) NUMBITS(1) []
    ],

    /// Interrupt FIFO levels.
    pub IFLS [
        /// Fill of the receive FIFO that raises the interrupt.
        RXIFLSEL OFFSET(3) NUMBITS(3) [
            OneQuarter = 0b001
        ],
        /// Fill of the transmit FIFO that raises the interrupt once less is left.
        TXIFLSEL OFFSET(0) NUMBITS(3) [
            OneEighth = 0b000
        ]
    ],

    /// Interrupt mask: 1 lets through.
    pub IMSC [
        /// Overrun.
        OE OFFSET(10) NUMBITS(1) [],
        /// Receive timeout: what is left below the level, 32 bit times after the last byte.
        RT OFFSET(6) NUMBITS(1) [],
        /// The transmit FIFO has fallen to its level.
        TX OFFSET(5) NUMBITS(1) [],
        /// Receive level reached.
        RX OFFSET(4) NUMBITS(1) []
    ]
}

register_structs! {
    /// The register block.
    pub Registers {
        (0x00 => pub dr: ReadWrite<u32, DR::Register>),
        (0x04 => _reserved1),
        (0x18 => pub fr: ReadOnly<u32, FR::Register>),
        (0x1c => _reserved2),
        (0x24 => pub ibrd: WriteOnly<u32>),
        (0x28 => pub fbrd: WriteOnly<u32>),
        (0x2c => pub lcr_h: WriteOnly<u32, LCRH::Register>),
        (0x30 => pub cr: WriteOnly<u32, CR::Register>),
        (0x34 => pub ifls: WriteOnly<u32, IFLS::Register>),
        (0x38 => pub imsc: ReadWrite<u32, IMSC::Register>),
        (0x3c => _reserved3),
        (0x44 => pub icr: WriteOnly<u32>),
        (0x48 => @END),
    }
}
