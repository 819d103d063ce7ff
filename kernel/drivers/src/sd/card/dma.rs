//! The change to DMA, and back.

use super::reads::Way;
use super::{CardError, PioReason, SdCard};
use crate::sd::adma::DmaMap;
use crate::sd::host::{Notice, SdHost};

/// Reads under a map before it is given up.
const TRIES_PER_MAP: usize = 2;

impl<H: SdHost> SdCard<H> {
    /// Changes to DMA under the first of `maps` that brings in what PIO does; stays with PIO if none
    /// does.
    ///
    /// Compares the card's first blocks, as many as fit the two buffers; `by_dma` is one that the
    /// controller can fill. A wrong map costs a few seconds of time-outs.
    pub fn adopt_dma(
        &mut self,
        maps: &[DmaMap],
        by_pio: &mut [u8],
        by_dma: &mut [u8],
    ) -> Result<Option<DmaMap>, CardError> {
        self.host.use_pio();
        if !self.modes.dma {
            self.pio_reason = PioReason::LeftOut;
            return Ok(None);
        }
        self.pio_reason = PioReason::TrialUnread;
        self.read_blocks(0, by_pio)?;
        self.pio_reason = PioReason::OutOfReach;
        for &map in maps {
            for _ in 0..TRIES_PER_MAP {
                // Whatever the card holds, it is not the complement of what it holds.
                for (byte, seen) in by_dma.iter_mut().zip(&*by_pio) {
                    *byte = !seen;
                }
                if !self.host.use_dma(map) || !self.host.is_direct(by_dma) {
                    break;
                }
                self.pio_reason = PioReason::TrialFailed;
                let read = self.read_once(Way::AsSet, 0, by_dma);
                if read.is_ok() && by_dma == by_pio {
                    return Ok(Some(map));
                }
                self.host.use_pio();
                self.recover()?;
            }
        }
        self.host.use_pio();
        self.host.tell(Notice::WithoutDma);
        Ok(None)
    }

    pub(super) fn give_up_dma(&mut self, reason: PioReason) {
        self.host.use_pio();
        self.pio_reason = reason;
        self.host.tell(Notice::WithoutDma);
    }
}
