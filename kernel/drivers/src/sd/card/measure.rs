//! How fast the card is read, by DMA and by the data port, and whether both bring the same.

use super::{CardError, Counters, SdCard};
use crate::sd::host::{SdHost, Transfer};

/// What a buffer holds before DMA: what is left of it has not come in.
const UNREAD: u8 = 0xA5;

/// One read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it took.
    pub us: u64,
    /// What went wrong and was put right.
    pub counters: Counters,
}

/// The same blocks, read in both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// As a load reads, if that is by DMA.
    pub dma: Option<Reading>,
    /// By the data port, if asked for.
    pub pio: Option<Reading>,
    /// Bytes that were read both ways.
    pub compared_bytes: usize,
    /// Of those, how many differ.
    pub differing_bytes: usize,
    /// Where in the piece the first of them is.
    pub first_difference: Option<usize>,
}

impl<H: SdHost> SdCard<H> {
    /// Reads the blocks from `first` on into `by_dma`, if DMA is in use and reaches it, and by the data port
    /// into `by_pio`, if there is one, and compares them.
    ///
    /// # Panics
    /// If a length is not a whole number of blocks.
    pub fn measure(
        &mut self,
        first: u64,
        by_dma: &mut [u8],
        by_pio: Option<&mut [u8]>,
    ) -> Result<Measured, CardError> {
        let mut measured = Measured::default();
        if self.transfer() == Transfer::Adma2 && self.is_direct(by_dma) {
            by_dma.fill(UNREAD);
            let reading = self.time(|card| card.read_blocks(first, by_dma))?;
            // A read that has ended by the data port is none by DMA.
            measured.dma = Some(reading).filter(|_| self.transfer() == Transfer::Adma2);
        }
        let Some(by_pio) = by_pio else {
            return Ok(measured);
        };
        measured.pio = Some(self.time(|card| card.read_blocks_by_port(first, by_pio))?);
        if measured.dma.is_some() {
            let differs = |(_, (a, b)): &(usize, (&u8, &u8))| a != b;
            let mut pairs = by_dma.iter().zip(&*by_pio).enumerate();
            measured.compared_bytes = pairs.len();
            measured.differing_bytes = pairs.clone().filter(differs).count();
            measured.first_difference = pairs.find(differs).map(|(at, _)| at);
        }
        Ok(measured)
    }

    fn time(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), CardError>,
    ) -> Result<Reading, CardError> {
        let (start_us, before) = (self.host.now_us(), self.counters);
        read(self)?;
        Ok(Reading {
            us: self.host.now_us().wrapping_sub(start_us),
            counters: self.counters - before,
        })
    }
}
