//! What is shown at the start.

use super::info::ModelFacts;
use super::platform::BoardFacts;
use super::screen::{Screen, Size, say};

/// The firmware and the board.
pub(super) fn board(screen: Screen<'_>, facts: &BoardFacts) {
    say!(screen, "\nPiLM {}", facts.version);
    say!(screen, "board   {}", BoardLine(facts));
    for warning in &facts.warnings {
        say!(screen, "warning {warning}");
    }
}

/// The model that was loaded.
pub(super) fn model(screen: Screen<'_>, model: &ModelFacts, board: &BoardFacts) {
    say!(screen, "model   {}", model.summary());
    if board.emulated {
        say!(screen, "loaded  {}", Size(model.load_bytes));
    } else {
        let seconds = model.load_us as f64 / 1e6;
        let rate = model.load_bytes as f64 / model.load_us.max(1) as f64;
        say!(
            screen,
            "loaded  {} in {seconds:.1} s ({rate:.1} MB/s)",
            Size(model.load_bytes)
        );
    }
}

/// The board in one line.
pub(super) struct BoardLine<'a>(pub &'a BoardFacts);

impl core::fmt::Display for BoardLine<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let facts = self.0;
        write!(
            f,
            "{}, {} MiB RAM, {} core{}",
            facts.board,
            facts.ram_bytes >> 20,
            facts.cores,
            if facts.cores == 1 { "" } else { "s" }
        )?;
        if facts.clock_hz > 0 {
            write!(f, " at {} MHz", facts.clock_hz / 1_000_000)?;
        }
        if facts.emulated {
            f.write_str(" (emulated: times are no speeds)")?;
        }
        Ok(())
    }
}
