//! Commands as register words, their answers, and data by the data port.

use super::{Board, COMMAND_LIMIT_US, DATA_LIMIT_US, Sdhci};
use crate::clock::Clock;
use crate::sd::host::{HostError, SdHost};
use crate::sd::protocol::{Command, Response, ResponseKind};
use crate::sd::registers::{Word, Words, interrupt, mode_command, present};

/// 1 MB/s is less than any mode gives, and than an emulator does.
const PORT_US_PER_BYTE: u64 = 1;

impl<W: Words, C: Clock, B: Board> Sdhci<W, C, B> {
    /// Sends `command` with the transfer `mode` and waits for its answer.
    pub(super) fn start(&self, command: Command, mode: u32) -> Result<Response, HostError> {
        let needs_dat =
            mode != 0 || (command.response == ResponseKind::ShortBusy && !command.is_abort());
        let inhibit = if needs_dat {
            present::CMD_INHIBIT | present::DAT_INHIBIT
        } else {
            present::CMD_INHIBIT
        };
        self.wait_idle(inhibit)?;
        self.write(Word::IntStatus, u32::MAX);
        self.write(Word::Argument, command.argument);
        self.write(Word::ModeCommand, command_word(command, mode));
        self.wait_event(interrupt::COMMAND_COMPLETE, COMMAND_LIMIT_US, command.index)?;
        Ok(self.response(command.response))
    }

    pub(super) fn response(&self, kind: ResponseKind) -> Response {
        match kind {
            ResponseKind::None => Response::default(),
            ResponseKind::Long => {
                // The controller keeps bits 127:8 of the register, shifted down by 8: no CRC.
                let words = [
                    Word::Response3,
                    Word::Response2,
                    Word::Response1,
                    Word::Response0,
                ];
                let shifted = words
                    .iter()
                    .fold(0, |acc, &w| acc << 32 | u128::from(self.words.read(w)));
                Response {
                    long: shifted << 8,
                    ..Response::default()
                }
            }
            _ => Response {
                short: self.words.read(Word::Response0),
                ..Response::default()
            },
        }
    }

    /// Adds what the card answered to the automatic CMD12.
    pub(super) fn with_stop(&self, n_blocks: usize, response: Response) -> Response {
        let stop = if n_blocks > 1 {
            self.words.read(Word::Response3)
        } else {
            0
        };
        Response { stop, ..response }
    }

    /// Sets the size and number of the blocks of a read; returns the number.
    pub(super) fn prepare_blocks(
        &self,
        block_bytes: usize,
        len_bytes: usize,
    ) -> Result<usize, HostError> {
        let n_blocks = len_bytes / block_bytes;
        assert!(
            n_blocks * block_bytes == len_bytes && (1..=self.max_blocks()).contains(&n_blocks),
            "one command reads whole blocks, as many as the count has bits for"
        );
        self.wait_idle(present::CMD_INHIBIT | present::DAT_INHIBIT)?;
        self.write(
            Word::BlockSizeCount,
            (n_blocks as u32) << 16 | block_bytes as u32,
        );
        Ok(n_blocks)
    }

    /// The read that `prepare_blocks` has announced, by the data port.
    pub(super) fn read_blocks_by_port(
        &self,
        command: Command,
        block_bytes: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError> {
        let n_blocks = buf.len() / block_bytes;
        let response = self.start(command, read_mode(n_blocks))?;
        self.read_port(command.index, block_bytes, buf)?;
        Ok(self.with_stop(n_blocks, response))
    }

    /// Takes the blocks out of the data port.
    pub(super) fn read_port(
        &self,
        index: u8,
        block_bytes: usize,
        buf: &mut [u8],
    ) -> Result<(), HostError> {
        let start_us = self.clock.now_us();
        let limit_us = DATA_LIMIT_US + PORT_US_PER_BYTE * buf.len() as u64;
        for block in buf.chunks_exact_mut(block_bytes) {
            if self.clock.now_us().wrapping_sub(start_us) > limit_us {
                return Err(HostError::DataTimeout { index });
            }
            self.wait_event(interrupt::READ_READY, DATA_LIMIT_US, index)?;
            for word in block.chunks_exact_mut(4) {
                word.copy_from_slice(&self.words.read(Word::Data).to_le_bytes());
            }
        }
        self.wait_event(interrupt::TRANSFER_COMPLETE, DATA_LIMIT_US, index)
    }
}

/// The transfer mode and command word.
pub(super) fn command_word(command: Command, mode: u32) -> u32 {
    use mode_command as m;
    let mut word = u32::from(command.index) << m::INDEX_SHIFT | mode;
    word |= match command.response {
        ResponseKind::None => 0,
        ResponseKind::Short => m::RESPONSE_48 | m::CHECK_CRC | m::CHECK_INDEX,
        ResponseKind::ShortBusy => m::RESPONSE_48_BUSY | m::CHECK_CRC | m::CHECK_INDEX,
        ResponseKind::Long => m::RESPONSE_136 | m::CHECK_CRC,
        ResponseKind::Ocr => m::RESPONSE_48,
    };
    if mode != 0 {
        word |= m::DATA;
    }
    if command.is_abort() {
        word |= m::TYPE_ABORT;
    }
    word
}

/// The transfer mode of a read of `n_blocks`.
pub(super) fn read_mode(n_blocks: usize) -> u32 {
    use mode_command as m;
    if n_blocks == 1 {
        m::READ
    } else {
        m::READ | m::MULTI | m::BLOCK_COUNT | m::AUTO_CMD12
    }
}
