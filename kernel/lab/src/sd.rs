//! What the card slot says of itself, and how fast the card is read.
//!
//! The card is started anew, and its first blocks are read as loads read them. The first of these are read
//! by the data port too: both must bring the same.

use crate::experiment::{Experiment, Lab};
use crate::machine::{Machine, SdReading};
use alloc::boxed::Box;
use protocol::event::{Done, Error, ErrorCode, Event, SdErrors, SdRead, SdTransfer};

/// Read by DMA, at most.
const DMA_BYTES: u64 = 64 << 20;
/// Read by the data port, at most.
const PIO_BYTES: u64 = 8 << 20;
/// Read in one step, in each way: a load's chunk.
const PIECE_BYTES: u64 = 2 << 20;

/// Why there is nothing to look at.
const NO_SLOT: &str = "this machine has no card slot: try it on a board";

/// All reads in one way.
#[derive(Debug, Clone, Copy, Default)]
struct Total {
    bytes: u64,
    us: u64,
    errors: SdErrors,
}

impl Total {
    fn add(&mut self, bytes: u64, reading: Option<SdReading>) {
        let Some(SdReading { us, errors }) = reading else {
            return;
        };
        self.bytes += bytes;
        self.us += us;
        self.errors = self.errors + errors;
    }
}

/// The measurement under way.
pub struct SdBench {
    card_bytes: u64,
    /// Whether pieces come in by DMA still.
    by_dma: bool,
    /// Bytes of the card that are done.
    done_bytes: u64,
    dma: Total,
    pio: Total,
    compared_bytes: u64,
    differing_bytes: u64,
    first_difference: Option<u64>,
}

impl SdBench {
    /// Starts the card and reports what controller and card say.
    ///
    /// # Errors
    /// There is no slot, or the card in it cannot be used: what the controller says is reported before.
    pub fn new<M: Machine>(lab: &mut Lab<'_, '_, M>) -> Result<Self, Error<'static>> {
        let slot = lab.machine.sd_slot();
        let mut slot = slot.ok_or_else(|| Error::new(ErrorCode::Card, NO_SLOT))?;
        let (sd, started) = slot.look();
        let card = sd.card.as_ref();
        let (card_bytes, transfer) = card.map_or((0, SdTransfer::Pio), |c| (c.bytes, c.transfer));
        lab.report.event(Event::Sd(Box::new(sd)));
        started.map_err(card_failed)?;
        Ok(Self {
            card_bytes,
            by_dma: transfer == SdTransfer::Dma,
            done_bytes: 0,
            dma: Total::default(),
            pio: Total::default(),
            compared_bytes: 0,
            differing_bytes: 0,
            first_difference: None,
        })
    }

    /// The next piece to read: where it is and how long, nothing at the end.
    fn next_piece(&self) -> Option<(u64, u64)> {
        let limit = if self.by_dma { DMA_BYTES } else { PIO_BYTES };
        let left = limit.min(self.card_bytes).saturating_sub(self.done_bytes);
        (left > 0).then(|| (self.done_bytes, left.min(PIECE_BYTES)))
    }

    fn report<M: Machine>(&self, lab: &mut Lab<'_, '_, M>) {
        let board = lab.machine.facts();
        for (transfer, total) in [(SdTransfer::Dma, self.dma), (SdTransfer::Pio, self.pio)] {
            if total.bytes == 0 {
                continue;
            }
            let rate = total.bytes as f64 / total.us.max(1) as f64;
            lab.report.event(Event::SdRead(Box::new(SdRead {
                transfer,
                read_bytes: total.bytes,
                emulated: board.emulated,
                read_s: total.us as f64 / 1e6,
                mb_per_s: (!board.emulated).then_some(rate),
                errors: total.errors,
                compared_bytes: self.compared_bytes,
                differing_bytes: self.differing_bytes,
                first_difference: self.first_difference,
                version: board.version.clone(),
                revision: board.revision,
            })));
        }
    }
}

impl<M: Machine> Experiment<M> for SdBench {
    /// One piece.
    fn step(&mut self, lab: &mut Lab<'_, '_, M>) -> Result<bool, Error<'static>> {
        let Some((offset, len_bytes)) = self.next_piece() else {
            return Ok(true);
        };
        let slot = lab.machine.sd_slot();
        let mut slot = slot.ok_or_else(|| Error::new(ErrorCode::Card, NO_SLOT))?;
        let piece = match slot.read(offset, len_bytes as usize, offset < PIO_BYTES) {
            Ok(piece) => piece,
            Err(error) => {
                // What was measured before is told all the same.
                self.report(lab);
                return Err(card_failed(error));
            }
        };
        self.by_dma &= piece.dma.is_some();
        self.dma.add(len_bytes, piece.dma);
        self.pio.add(len_bytes, piece.pio);
        self.compared_bytes += piece.compared_bytes as u64;
        self.differing_bytes += piece.differing_bytes as u64;
        let difference = piece.first_difference.map(|at| offset + at as u64);
        self.first_difference = self.first_difference.or(difference);
        self.done_bytes += len_bytes;
        Ok(false)
    }

    fn end(&mut self, stopped: bool, lab: &mut Lab<'_, '_, M>) -> Done {
        self.report(lab);
        Done::measured(stopped)
    }
}

fn card_failed(error: impl core::error::Error) -> Error<'static> {
    Error::new(ErrorCode::Card, error)
}
