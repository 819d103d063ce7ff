//! `/kernels`: what each generation of kernels makes of the loaded model's own weights.
//!
//! The subject is the largest matrix of each weight type that the model has. Every generation multiplies
//! it with one token and with a tile of tokens, on each number of cores. Each sample is one region;
//! configurations take turns in random order, the first run of each is a warm-up whose products are
//! compared with f64, and a sample in whose window an interrupt was taken is thrown away and counted.

mod report;
mod subject;

use super::events::Events;
use super::platform::Platform;
use super::samples::{Samples, shuffled};
use super::screen::say;
use super::seat::Seat;
use super::shell::Shell;
use crate::json::Id;
use alloc::vec::Vec;
use core::fmt;
use ops::activations::TILE;
use ops::arena::{Arena, Line, OutOfMemory};
use ops::matrix::Kernels;
use report::{Record, Row};
use subject::Subject;

/// Samples per configuration unless asked otherwise, on a board and in an emulator.
const RUNS: [usize; 2] = [10, 3];
/// The most samples per configuration.
const MAX_RUNS: usize = 1000;
/// Order of the configurations.
const SEED: u64 = 1;
/// Tries per sample, void ones included.
const TRIES: usize = 3;

/// One generation with one load on some cores.
struct Configuration {
    /// Number of the subject.
    subject: usize,
    kernels: Kernels,
    n_tokens: usize,
    cores: usize,
    samples: Samples,
    /// The largest error relative to the largest product, once it is known.
    error: Option<f64>,
}

impl Configuration {
    /// Whether both differ in the generation alone.
    fn is_rival_of(&self, other: &Self) -> bool {
        (self.subject, self.n_tokens, self.cores) == (other.subject, other.n_tokens, other.cores)
    }
}

/// Why there is no measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KernelsError {
    /// A number of runs that is not possible.
    BadRuns,
    /// Less memory is set aside than activations and products take.
    Memory(OutOfMemory),
}

impl KernelsError {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::BadRuns => "bad_value",
            Self::Memory(_) => "out_of_memory",
        }
    }
}

impl fmt::Display for KernelsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRuns => write!(f, "\"runs\" must be from 1 to {MAX_RUNS}"),
            Self::Memory(error) => write!(f, "too little memory is set aside: {error}"),
        }
    }
}

impl From<OutOfMemory> for KernelsError {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

impl<P: Platform> Shell<'_, P> {
    /// `/kernels`.
    pub(super) fn kernels(&mut self, runs: Option<usize>, seat: &Seat<'_>, scratch: &mut [Line]) {
        let facts = self.platform.facts();
        if facts.emulated {
            say!(
                self.screen,
                "emulated: no speeds; the ratios are the emulator's, not the board's"
            );
        }
        let screen = self.screen;
        let done = self.measure_kernels(runs, &Id::None, seat, scratch, &mut |records| {
            for record in records {
                if record.is_first_of_subject {
                    say!(screen, "{}", record.subject);
                }
                if record.configuration.error.is_some() {
                    say!(screen, "{}", Row(record, facts));
                }
            }
        });
        match done {
            Ok(false) => {}
            Ok(true) => say!(self.screen, "stopped"),
            Err(error) => say!(self.screen, "{error}"),
        }
    }

    /// The op `kernels`.
    pub(super) fn kernels_events(
        &mut self,
        events: &Events<'_>,
        id: &Id,
        runs: Option<usize>,
        seat: &Seat<'_>,
        scratch: &mut [Line],
    ) {
        let facts = self.platform.facts();
        let health = self.platform.health();
        let done = self.measure_kernels(runs, id, seat, scratch, &mut |records| {
            for record in records {
                events.event("kernels", |event| {
                    record.write(event, facts, &health, &seat.facts.file);
                });
            }
        });
        match done {
            Ok(stopped) => events.event("done", |event| {
                event.field("finish_reason", if stopped { "abort" } else { "stop" });
            }),
            Err(error) => events.error(error.code(), error),
        }
    }

    /// Measures, and hands what came of it to `report`. Returns whether it was stopped.
    fn measure_kernels(
        &self,
        runs: Option<usize>,
        id: &Id,
        seat: &Seat<'_>,
        scratch: &mut [Line],
        report: &mut dyn FnMut(&mut dyn Iterator<Item = Record<'_>>),
    ) -> Result<bool, KernelsError> {
        let facts = self.platform.facts();
        let runs = runs.unwrap_or(RUNS[usize::from(facts.emulated)]);
        if !(1..=MAX_RUNS).contains(&runs) {
            return Err(KernelsError::BadRuns);
        }
        let mut arena = Arena::new(scratch);
        let mut subjects = Vec::new();
        for (tensor, matrix) in seat.model.largest_matrices() {
            subjects.push(Subject::new(&mut arena, tensor, matrix, facts.emulated)?);
        }
        let mut configurations = Vec::new();
        for subject in 0..subjects.len() {
            for n_tokens in [1, TILE] {
                for cores in 1..=facts.cores {
                    configurations.extend(Kernels::ALL.map(|kernels| Configuration {
                        subject,
                        kernels,
                        n_tokens,
                        cores,
                        samples: Samples::with_capacity(runs),
                        error: None,
                    }));
                }
            }
        }
        self.inbox.borrow_mut().begin(id.clone());
        let mut stopped = false;
        'runs: for run in 0..=runs {
            for at in shuffled(configurations.len(), SEED + run as u64) {
                if self.inbox.borrow_mut().poll() {
                    stopped = true;
                    break 'runs;
                }
                let configuration = &mut configurations[at];
                let subject = &mut subjects[configuration.subject];
                if run == 0 {
                    let cores = self.platform.cores(Some(configuration.cores));
                    subject.multiply(cores, configuration.kernels, configuration.n_tokens);
                    configuration.error = Some(subject.error(configuration.n_tokens));
                } else {
                    self.sample_kernel(configuration, subject);
                }
            }
        }
        let stop = self.inbox.borrow_mut().end();
        report(&mut report::records(&configurations, &subjects));
        Ok(stopped || stop.is_some())
    }

    fn sample_kernel(&self, configuration: &mut Configuration, subject: &mut Subject<'_, '_>) {
        let cores = self.platform.cores(Some(configuration.cores));
        for _ in 0..TRIES {
            let irqs = self.platform.irqs_taken();
            let started = self.platform.now_us();
            subject.multiply(cores, configuration.kernels, configuration.n_tokens);
            let took = self.platform.now_us() - started;
            if self.platform.irqs_taken() == irqs {
                configuration.samples.push_us(took);
                return;
            }
            configuration.samples.void_runs += 1;
        }
    }
}
