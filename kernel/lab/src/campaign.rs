//! Drives a design through an instrument and the guards, one window a step.

use crate::design::{Design, Turn, Turns};
use crate::guard::{self, Breach};
use crate::instrument::{Cell, Instrument};
use crate::verdict::Reason;
use crate::window::{Expected, Window};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// Fewest blocks of which an interval is formed.
const MIN_BLOCKS: usize = 2;

/// A window with its place in the design and what the guards say.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The place.
    pub turn: Turn,
    /// The window.
    pub window: Window,
    /// Why it is void.
    pub void: Option<Breach>,
}

/// Where a campaign stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Windows that are done.
    pub done: usize,
    /// All windows.
    pub total: usize,
    /// Since the start.
    pub elapsed_us: u64,
    /// Until the end, if it goes on so; nothing before the first window.
    pub remaining_us: Option<u64>,
}

/// A campaign under way. It can be left after any step: what is done is kept.
#[derive(Debug, Clone)]
pub struct Campaign {
    design: Design,
    cells: Vec<Cell>,
    turns: Turns,
    samples: Vec<Sample>,
    not_measured: Vec<Option<String>>,
    first_crc: Vec<Option<u32>>,
    done: usize,
}

impl Campaign {
    /// Plans `n_blocks` blocks of `cells` after a warm-up block.
    pub fn new(seed: u64, n_blocks: usize, cells: Vec<Cell>) -> Self {
        let n_cells = cells.len();
        let design = Design {
            seed,
            n_blocks,
            n_cells,
        };
        Self {
            design,
            turns: design.turns(),
            samples: Vec::with_capacity(design.n_turns()),
            not_measured: vec![None; n_cells],
            first_crc: vec![None; n_cells],
            done: 0,
            cells,
        }
    }

    /// Measures one window; nothing when all are done.
    pub fn step(&mut self, instrument: &mut impl Instrument) -> Option<&Sample> {
        loop {
            let turn = self.turns.next()?;
            self.done += 1;
            if self.not_measured[turn.cell].is_some() {
                continue;
            }
            let cell = &self.cells[turn.cell];
            let mut window = Window::default();
            if let Err(error) = instrument.measure(cell, &mut window) {
                self.not_measured[turn.cell] = Some(error.to_string());
                continue;
            }
            window.is_warm_up |= turn.is_warm_up();
            let expected = Expected {
                pos: cell.depth,
                reused: cell.depth,
                cores: cell.cores,
                clock_hz: cell.clock_hz,
                logits_crc: self.first_crc[turn.cell],
            };
            if self.first_crc[turn.cell].is_none() {
                self.first_crc[turn.cell] = window.logits_crc;
            }
            let void = guard::breach(&window, &expected);
            self.samples.push(Sample { turn, window, void });
            return self.samples.last();
        }
    }

    /// Returns the design.
    pub const fn design(&self) -> Design {
        self.design
    }

    /// Returns the cells.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns all samples so far, the void ones included.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns why a cell was not measured.
    pub fn not_measured(&self, cell: usize) -> Option<&str> {
        self.not_measured[cell].as_deref()
    }

    /// Returns where it stands, `elapsed_us` after its start.
    pub fn progress(&self, elapsed_us: u64) -> Progress {
        let total = self.design.n_turns();
        let remaining = elapsed_us * (total - self.done) as u64;
        Progress {
            done: self.done,
            total,
            elapsed_us,
            remaining_us: (self.done > 0).then(|| remaining / self.done as u64),
        }
    }

    /// Returns how many windows of the cells count or are void, and how many of them are void.
    pub fn voids(&self, cells: &[usize]) -> (usize, usize) {
        let of_cells = |s: &&Sample| cells.contains(&s.turn.cell) && !s.turn.is_warm_up();
        let samples = || self.samples.iter().filter(of_cells);
        (
            samples().count(),
            samples().filter(|s| s.void.is_some()).count(),
        )
    }

    /// Returns the contrast of each block in which none of the cells is void: Σ weight × ln(ns per token).
    ///
    /// # Errors
    /// [`Reason::Void`] with more than 20 % void windows, [`Reason::TooFew`] with fewer than two blocks.
    pub fn contrasts(&self, weights: &[(usize, f64)]) -> Result<Vec<f64>, Reason> {
        let cells: Vec<usize> = weights.iter().map(|(cell, _)| *cell).collect();
        let (n, n_void) = self.voids(&cells);
        if n > 0 && !guard::enough(n_void, n) {
            return Err(Reason::Void);
        }
        let contrasts: Vec<f64> = (1..=self.design.n_blocks)
            .filter_map(|block| self.contrast(block, weights))
            .collect();
        match contrasts.len() {
            0..MIN_BLOCKS => Err(Reason::TooFew),
            _ => Ok(contrasts),
        }
    }

    fn contrast(&self, block: usize, weights: &[(usize, f64)]) -> Option<f64> {
        let mut sum = 0.0;
        for (cell, weight) in weights {
            let is_it = |s: &&Sample| s.turn.block == block && s.turn.cell == *cell;
            let sample = self
                .samples
                .iter()
                .find(is_it)
                .filter(|s| s.void.is_none())?;
            let tokens = self.cells[*cell].tokens.max(1) as f64;
            sum += weight * libm::log(sample.window.ns as f64 / tokens);
        }
        Some(sum)
    }

    /// Returns measured clock and tokens per second of each window of the cells that counts.
    ///
    /// # Errors
    /// As [`Campaign::contrasts`].
    pub fn clock_points(&self, cells: &[usize]) -> Result<Vec<(f64, f64)>, Reason> {
        let (n, n_void) = self.voids(cells);
        if n > 0 && !guard::enough(n_void, n) {
            let is_throttled = |s: &&Sample| s.void == Some(Breach::Throttled);
            let is_clamped = |s: &&Sample| s.void == Some(Breach::ClockOff);
            let count = |f: &dyn Fn(&&Sample) -> bool| self.samples.iter().filter(|s| f(s)).count();
            return Err(match (count(&is_throttled), count(&is_clamped)) {
                (throttled, _) if throttled * 2 > n_void => Reason::Throttled,
                (_, clamped) if clamped * 2 > n_void => Reason::Clamped,
                _ => Reason::Void,
            });
        }
        let counts = |s: &&Sample| s.void.is_none() && cells.contains(&s.turn.cell);
        let point = |s: &Sample| {
            let tokens = self.cells[s.turn.cell].tokens as f64;
            Some((
                s.window.clock_hz()? as f64,
                tokens * 1e9 / s.window.ns as f64,
            ))
        };
        Ok(self
            .samples
            .iter()
            .filter(counts)
            .filter_map(point)
            .collect())
    }
}
