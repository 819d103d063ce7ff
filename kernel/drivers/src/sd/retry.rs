//! What to try after a read has failed: the ladder of `SdCard::read_blocks`.
//!
//! Each rung is tried three times, and the last failure's cause chooses the next one: CRC errors are
//! about clock and wiring, not about who moves the bytes, and what the card cannot read of itself is about
//! neither. A rung that changes the host (PIO, the slower
//! clock) stays in force for later reads; single blocks are for the failing piece alone.
//!
//! ```text
//!   AsIs ──3 failures──► HalfClock or Pio, by the cause ──3──► the other one ──3──► SingleBlocks ──3──► give up
//!                                     (Pio only after DMA)
//! ```

use super::host::Transfer;

/// Failures on one rung before the next one.
pub const TRIES_PER_RUNG: u8 = 3;

/// How a read is attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// With the host as it is.
    AsIs,
    /// By the data port.
    Pio,
    /// At the default-speed clock.
    HalfClock,
    /// One block per command.
    SingleBlocks,
}

/// What a failure points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The lines: CRC, end bit, index, an error that the card reports.
    Signal,
    /// The card's own memory.
    Medium,
    /// The way to memory, or time.
    Transport,
}

/// The state of one read's retries.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    rung: Rung,
    failures_on_rung: u8,
    can_take_pio: bool,
    can_slow_down: bool,
}

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Try again on the same rung.
    Again,
    /// Change to this rung, then try again.
    Climb(Rung),
    /// Nothing is left to try.
    GiveUp,
}

impl Ladder {
    /// A ladder for a host that moves data by `transfer`.
    pub fn new(transfer: Transfer) -> Self {
        Self {
            rung: Rung::AsIs,
            failures_on_rung: 0,
            can_take_pio: transfer == Transfer::Adma2,
            can_slow_down: true,
        }
    }

    /// The rung in force.
    pub fn rung(&self) -> Rung {
        self.rung
    }

    /// Takes note of a failure.
    pub fn failed(&mut self, cause: Cause) -> Step {
        self.failures_on_rung += 1;
        if self.failures_on_rung < TRIES_PER_RUNG {
            return Step::Again;
        }
        let slow_first = cause == Cause::Signal && self.can_slow_down;
        self.rung = match self.rung {
            Rung::SingleBlocks => return Step::GiveUp,
            _ if cause == Cause::Medium => Rung::SingleBlocks,
            _ if self.can_take_pio && !slow_first => Rung::Pio,
            _ if self.can_slow_down => Rung::HalfClock,
            _ => Rung::SingleBlocks,
        };
        self.can_take_pio &= self.rung != Rung::Pio;
        self.can_slow_down &= self.rung != Rung::HalfClock;
        self.failures_on_rung = 0;
        Step::Climb(self.rung)
    }

    /// Takes note of a block that was read, so that the next one has all its tries.
    pub fn succeeded(&mut self) {
        self.failures_on_rung = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rungs(transfer: Transfer, cause: Cause) -> Vec<Rung> {
        let mut ladder = Ladder::new(transfer);
        let mut rungs = Vec::new();
        loop {
            assert_eq!(ladder.failed(cause), Step::Again);
            assert_eq!(ladder.failed(cause), Step::Again);
            match ladder.failed(cause) {
                Step::Climb(rung) => rungs.push(rung),
                Step::GiveUp => return rungs,
                Step::Again => panic!("three tries on each rung"),
            }
        }
    }

    #[test]
    fn three_tries_on_each_rung_and_the_cause_chooses_the_next() {
        use Rung::{HalfClock, Pio, SingleBlocks};
        let (dma, pio) = (Transfer::Adma2, Transfer::Pio);
        let by_signal = rungs(dma, Cause::Signal);
        assert_eq!(by_signal, [HalfClock, Pio, SingleBlocks]);
        let by_transport = rungs(dma, Cause::Transport);
        assert_eq!(by_transport, [Pio, HalfClock, SingleBlocks]);
        for cause in [Cause::Signal, Cause::Transport] {
            assert_eq!(rungs(pio, cause), [HalfClock, SingleBlocks]);
        }
        for transfer in [dma, pio] {
            assert_eq!(rungs(transfer, Cause::Medium), [SingleBlocks]);
        }
    }

    #[test]
    fn success_gives_the_next_block_all_its_tries() {
        let mut ladder = Ladder::new(Transfer::Pio);
        assert_eq!(ladder.failed(Cause::Signal), Step::Again);
        assert_eq!(ladder.failed(Cause::Signal), Step::Again);
        ladder.succeeded();
        assert_eq!(ladder.failed(Cause::Signal), Step::Again);
        assert_eq!(ladder.rung(), Rung::AsIs);
    }
}
