//! Data out of the card: by the port, and by the DMA engine along a table of descriptors.

use std::collections::VecDeque;

use super::Chip;
use super::card::{Effect, STOPPED};
use crate::sd::adma::DmaMap;
use crate::sd::registers::{Word, interrupt, mode_command};

const VALID_TRANSFER: u32 = 0b10_0001;
const END: u32 = 0b10;

impl Chip<'_> {
    /// The physical address that the engine means by `bus`.
    fn phys_of_bus(&self, bus: u32) -> Option<usize> {
        match self.map {
            DmaMap::Identity => Some(bus as usize),
            DmaMap::Alias => (bus as usize).checked_sub(0xC000_0000),
        }
    }

    /// Data after a command.
    pub(super) fn transfer(&self, word: u32, index: u8, effect: Effect) {
        let blocks = self.register(Word::BlockSizeCount);
        let block_bytes = (blocks & 0xFFF) as usize;
        let is_single = word & mode_command::MULTI == 0;
        let n_blocks = if is_single {
            1
        } else {
            (blocks >> 16) as usize
        };
        let mut bytes = self.card.borrow().data(index, block_bytes * n_blocks);
        let cut = match effect {
            Effect::Crc | Effect::NoData | Effect::NoEnd => bytes.len() / 2,
            _ => bytes.len(),
        };
        if matches!(effect, Effect::Ecc) {
            bytes[cut - 64..].fill(0xEC);
        }
        if effect == Effect::Bent && word & mode_command::DMA != 0 {
            bytes[cut / 2] ^= 1;
        }
        let moved = if word & mode_command::DMA != 0 {
            match effect {
                Effect::Lost => Some(()),
                _ => self.run_engine(&bytes[..cut], cut < bytes.len()),
            }
        } else {
            self.block_words.set(block_bytes / 4);
            let words = bytes[..cut / block_bytes * block_bytes].chunks_exact(4);
            let words = words.map(|word| u32::from_le_bytes(word.try_into().unwrap()));
            *self.port.borrow_mut() = words.collect::<VecDeque<u32>>();
            Some(())
        };
        let stop = match effect {
            Effect::Ecc => STOPPED | 1 << 21,
            _ => STOPPED,
        };
        self.set_register(Word::Response3, stop);
        let is_by_port = word & mode_command::DMA == 0;
        match effect {
            _ if moved.is_none() => self.raise(interrupt::ADMA),
            Effect::Adma => self.raise(interrupt::ADMA),
            Effect::AutoStop => self.raise(interrupt::AUTO_CMD),
            Effect::Crc => self.raise(interrupt::DATA_CORRUPT & 1 << 21),
            Effect::NoData => self.raise(interrupt::DATA_TIMEOUT),
            Effect::NoEnd => {}
            Effect::LateEnd if !is_by_port => {
                self.after
                    .set(interrupt::TRANSFER_COMPLETE | interrupt::DATA_TIMEOUT);
                self.card.borrow_mut().end();
            }
            _ if is_by_port => self.raise(interrupt::READ_READY),
            _ => {
                self.raise(interrupt::TRANSFER_COMPLETE);
                self.card.borrow_mut().end();
            }
        }
    }

    pub(super) fn read_port(&self) -> u32 {
        let mut port = self.port.borrow_mut();
        let word = port.pop_front().unwrap_or(0xDEAD_DA7A);
        if port.is_empty() {
            self.raise(interrupt::TRANSFER_COMPLETE);
            self.card.borrow_mut().end();
        } else if port.len().is_multiple_of(self.block_words.get()) {
            self.raise(interrupt::READ_READY);
        }
        word
    }

    /// Walks the table; nothing if that leads astray, or if the table's end is not the data's. Data that the
    /// card has cut off end the walk anywhere.
    fn run_engine(&self, mut bytes: &[u8], is_cut: bool) -> Option<()> {
        let mut descriptor = self.phys_of_bus(self.register(Word::AdmaAddr))?;
        loop {
            let head = self.memory.read_word(descriptor)?;
            let address = self.memory.read_word(descriptor + 4)?;
            if head & 0b11_1001 != VALID_TRANSFER || !address.is_multiple_of(4) {
                return None;
            }
            let length = match head as usize >> 16 {
                0 => 0x1_0000,
                length => length,
            };
            let (piece, rest) = bytes.split_at(length.min(bytes.len()));
            self.memory.write(self.phys_of_bus(address)?, piece)?;
            self.n_by_engine.set(self.n_by_engine.get() + piece.len());
            if rest.is_empty() {
                let is_end = head & END != 0 && piece.len() == length;
                return (is_end || is_cut).then_some(());
            }
            if head & END != 0 {
                return None;
            }
            bytes = rest;
            descriptor += 8;
        }
    }
}
