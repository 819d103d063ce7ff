//! What to try after a read has failed: the ladder of `SdCard::read_blocks`.
//!
//! Each rung is tried three times. A rung that changes the host (PIO, the slower clock) stays in
//! force for later reads; single blocks are for the failing piece alone.
//!
//! ```text
//!   AsIs ──3 failures──► Pio ──3──► HalfClock ──3──► SingleBlocks ──3──► give up
//!                        (only after DMA)
//! ```

use super::host::Transfer;

/// Failures on one rung before the next one.
pub const TRIES_PER_RUNG: u8 = 3;

/// How a read is attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// With the host as it is.
    AsIs,
    /// By the data port.
    Pio,
    /// At the default-speed clock.
    HalfClock,
    /// At the default-speed clock by the data port, one block per command.
    SingleBlocks,
}

/// The state of one read's retries.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    rung: Rung,
    failures_on_rung: u8,
    transfer: Transfer,
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
            transfer,
        }
    }

    /// The rung in force.
    pub fn rung(&self) -> Rung {
        self.rung
    }

    /// Takes note of a failure.
    pub fn failed(&mut self) -> Step {
        self.failures_on_rung += 1;
        if self.failures_on_rung < TRIES_PER_RUNG {
            return Step::Again;
        }
        let next = match (self.rung, self.transfer) {
            (Rung::AsIs, Transfer::Adma2) => Rung::Pio,
            (Rung::AsIs | Rung::Pio, _) => Rung::HalfClock,
            (Rung::HalfClock, _) => Rung::SingleBlocks,
            (Rung::SingleBlocks, _) => return Step::GiveUp,
        };
        self.rung = next;
        self.failures_on_rung = 0;
        Step::Climb(next)
    }

    /// Takes note of a block that was read, so that the next one has all its tries.
    pub fn succeeded(&mut self) {
        self.failures_on_rung = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(transfer: Transfer) -> Vec<Step> {
        let mut ladder = Ladder::new(transfer);
        let mut steps = Vec::new();
        loop {
            let step = ladder.failed();
            steps.push(step);
            if step == Step::GiveUp {
                return steps;
            }
        }
    }

    #[test]
    fn three_tries_on_each_rung() {
        use Step::{Again, Climb, GiveUp};
        let pio = [
            [Again, Again, Climb(Rung::HalfClock)],
            [Again, Again, Climb(Rung::SingleBlocks)],
            [Again, Again, GiveUp],
        ];
        assert_eq!(steps(Transfer::Pio), pio.concat());
        let mut dma = vec![Again, Again, Climb(Rung::Pio)];
        dma.extend(pio.concat());
        assert_eq!(steps(Transfer::Adma2), dma);
    }

    #[test]
    fn success_gives_the_next_block_all_its_tries() {
        let mut ladder = Ladder::new(Transfer::Pio);
        assert_eq!(ladder.failed(), Step::Again);
        assert_eq!(ladder.failed(), Step::Again);
        ladder.succeeded();
        assert_eq!(ladder.failed(), Step::Again);
        assert_eq!(ladder.rung(), Rung::AsIs);
    }
}
