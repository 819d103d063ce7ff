//! Transfers by DMA: what comes before and after the command.
//!
//! Not yet seen on a board; see [`crate::sd::adma`].

use super::{Board, DATA_LIMIT_US, IDENTIFICATION_HZ, Sdhci};
use crate::clock::Clock;
use crate::sd::adma::{self, DmaMap, Table};
use crate::sd::host::HostError;
use crate::sd::registers::{Word, Words, clock_reset, host_power, interrupt};

impl<W: Words, C: Clock, B: Board> Sdhci<W, C, B> {
    /// The bus address of the descriptor table.
    pub(super) fn table_addr(&self, map: DmaMap) -> Option<u32> {
        let addr = core::ptr::from_ref::<Table>(self.table).addr();
        let len = size_of::<Table>();
        map.bus_addr(self.board.phys_addr(addr, len)?, len)
    }

    /// Hands `buf` to the DMA engine, if it is in use and reaches `buf`.
    ///
    /// Addresses are exposed and taken from what may be written: that another writes there is what the
    /// compiler has to expect.
    pub(super) fn prepare_dma(&mut self, buf: &mut [u8]) -> bool {
        let Some(map) = self.dma else {
            return false;
        };
        let buf_addr = buf.as_mut_ptr().expose_provenance();
        let phys = self.board.phys_addr(buf_addr, buf.len());
        let addr = phys.and_then(|phys| dma_addr(map, phys, buf.len()));
        let (Some(addr), Some(table_addr)) = (addr, self.table_addr(map)) else {
            return false;
        };
        self.table.describe(addr, buf.len());
        // No dirty line may be written back over what the controller will have written.
        let clean = |addr, len| self.board.clean_and_invalidate(addr, len);
        clean(buf_addr, buf.len());
        let table = core::ptr::from_ref::<Table>(self.table).expose_provenance();
        clean(table, size_of::<Table>());
        self.write(Word::AdmaAddr, table_addr);
        true
    }

    /// Waits until the DMA engine has written all of `buf`, or stops it.
    pub(super) fn finish_dma(&self, index: u8, buf: &mut [u8]) -> Result<(), HostError> {
        // A second of patience, and twice what the bytes take on the lines.
        let limit_us = DATA_LIMIT_US + 2 * self.transfer_us(buf.len());
        let result = self.wait_event(interrupt::TRANSFER_COMPLETE, limit_us, index);
        if result.is_err() {
            self.stop_dma()?;
        }
        // Lines that came back by prefetching while the transfer ran hold old bytes.
        self.board
            .clean_and_invalidate(buf.as_mut_ptr().expose_provenance(), buf.len());
        result
    }

    /// What `len_bytes` take on the lines without pauses.
    fn transfer_us(&self, len_bytes: usize) -> u64 {
        let n_lines = if self.host_control & host_power::FOUR_LINES != 0 {
            4
        } else {
            1
        };
        let bits_per_s = u64::from(self.card_hz.max(IDENTIFICATION_HZ)) * n_lines;
        8 * len_bytes as u64 * 1_000_000 / bits_per_s
    }

    /// Nothing is written to memory after this.
    pub(super) fn stop_dma(&self) -> Result<(), HostError> {
        self.reset_bits(clock_reset::RESET_CMD)?;
        self.reset_bits(clock_reset::RESET_DAT)
    }
}

/// The bus address of `len` bytes at the physical address `phys`, if the DMA engine can fill them.
pub(super) fn dma_addr(map: DmaMap, phys: usize, len: usize) -> Option<u32> {
    let aligned = phys.is_multiple_of(adma::ALIGNMENT) && len.is_multiple_of(adma::ALIGNMENT);
    if !aligned || !(1..=adma::MAX_BYTES).contains(&len) {
        return None;
    }
    map.bus_addr(phys, len)
}
