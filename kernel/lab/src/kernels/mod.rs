//! What each set of kernels makes of the loaded model's own weights.
//!
//! The subject is the largest matrix of each weight type that the model has. Every set multiplies it
//! with one token and with a tile of tokens, on each number of cores. Each sample is one region;
//! configurations take turns in random order, the first run of each is a warm-up whose products are
//! compared with f64, and a sample in whose window an interrupt was taken is thrown away and counted.

mod inputs;

use crate::experiment::{Experiment, Lab};
use crate::machine::Machine;
use crate::samples::{Samples, Turns};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use inputs::Inputs;
use ops::activations::TILE;
use ops::arena::Arena;
use ops::matrix::Kernels;
use protocol::event::{self, Done, Error, ErrorCode, Event};
use protocol::facts::{Conditions, Health};
use protocol::settings::KernelSet;

/// Samples per configuration unless asked otherwise, on a board and in an emulator.
const RUNS: [usize; 2] = [10, 3];

/// One set with one load on some cores.
struct Configuration {
    /// Number of the matrix.
    matrix: usize,
    kernels: KernelSet,
    n_tokens: usize,
    cores: usize,
    samples: Samples,
    /// The largest error relative to the largest product, once it is known.
    error: Option<f64>,
}

impl Configuration {
    /// Whether both differ in the set alone.
    fn is_rival_of(&self, other: &Self) -> bool {
        (self.matrix, self.n_tokens, self.cores) == (other.matrix, other.n_tokens, other.cores)
    }
}

/// The measurement under way.
pub struct KernelBench {
    inputs: Vec<Inputs>,
    configurations: Vec<Configuration>,
    turns: Turns,
    /// The board before the first sample.
    health: Health,
}

impl KernelBench {
    /// Measures `runs` samples of each configuration.
    ///
    /// # Errors
    /// No model.
    pub fn new<M: Machine>(
        runs: Option<usize>,
        lab: &mut Lab<'_, '_, M>,
    ) -> Result<Self, Error<'static>> {
        let board = lab.machine.facts();
        let runs = runs.unwrap_or(RUNS[usize::from(board.emulated)]);
        let inputs: Vec<Inputs> = (lab.subject()?.engine.largest_matrices().iter())
            .map(|(tensor, matrix)| Inputs::new(tensor, matrix, board.emulated))
            .collect();
        let mut configurations = Vec::new();
        for matrix in 0..inputs.len() {
            for n_tokens in [1, TILE] {
                for cores in 1..=board.cores {
                    configurations.extend(KernelSet::ALL.map(|kernels| Configuration {
                        matrix,
                        kernels,
                        n_tokens,
                        cores,
                        samples: Samples::with_capacity(runs),
                        error: None,
                    }));
                }
            }
        }
        Ok(Self {
            inputs,
            turns: Turns::new(configurations.len(), runs + 1),
            configurations,
            health: lab.machine.health(),
        })
    }
}

impl<M: Machine> Experiment<M> for KernelBench {
    /// One sample.
    fn step(&mut self, lab: &mut Lab<'_, '_, M>) -> Result<bool, Error<'static>> {
        let Some((round, at)) = self.turns.current() else {
            return Ok(true);
        };
        self.turns.advance();
        let machine = lab.machine;
        let here = &mut self.configurations[at];
        let inputs = &self.inputs[here.matrix];
        let cores = machine.cores(Some(here.cores));
        let kernels = kernel_set(here.kernels);
        let (engine, scratch) = match &mut lab.subject {
            Some(subject) => (&*subject.engine, &mut *lab.scratch),
            None => return lab.subject().map(|_| false),
        };
        let matrices = engine.largest_matrices();
        let Some((_, matrix)) = matrices.get(here.matrix) else {
            return Ok(false);
        };
        let n_tokens = here.n_tokens;
        let out = Arena::new(scratch).slice(inputs.out_len(n_tokens));
        let out = out.map_err(|error| {
            let message = format_args!("too little memory is set aside: {error}");
            Error::new(ErrorCode::OutOfMemory, message)
        })?;
        if round == 0 {
            inputs.multiply(matrix, cores, kernels, n_tokens, out);
            here.error = Some(inputs.error(out, n_tokens));
        } else {
            let multiply = || inputs.multiply(matrix, cores, kernels, n_tokens, out);
            here.samples.time(machine, multiply);
        }
        Ok(false)
    }

    fn end(&mut self, stopped: bool, lab: &mut Lab<'_, '_, M>) -> Done {
        let board = lab.machine.facts();
        let health = lab.machine.health();
        let model = lab
            .subject
            .as_ref()
            .map(|subject| subject.facts.file.clone());
        for here in &self.configurations {
            let inputs = &self.inputs[here.matrix];
            let reference = self
                .configurations
                .iter()
                .find(|other| other.kernels == KernelSet::Reference && other.is_rival_of(here));
            let speedup = reference.map(|reference| reference.samples.mean() / here.samples.mean());
            let rate = here.samples.per_second(inputs.read_bytes() as f64 / 1e9);
            lab.report.event(Event::Kernels(Box::new(event::Kernels {
                kernels: here.kernels,
                tensor: Cow::Borrowed(inputs.tensor),
                format: Cow::Borrowed(inputs.format.name()),
                rows: inputs.rows,
                cols: inputs.cols,
                measured_rows: inputs.measured_rows(),
                read_bytes: inputs.read_bytes(),
                tokens: here.n_tokens,
                cores: here.cores,
                irqs_in_window: here.samples.irqs,
                emulated: board.emulated,
                model: model.clone().unwrap_or_default(),
                conditions: Conditions::new(
                    board,
                    [&self.health, &health],
                    here.samples.clock_hz(),
                ),
                samples: here.samples.record(),
                speedup_over_reference: speedup.filter(|x| x.is_finite() && *x > 0.0),
                max_relative_error: here.error,
                compared_values: inputs.compared_values(here.n_tokens),
                mean_gb_per_s: rate.filter(|_| !board.emulated),
            })));
        }
        Done::measured(stopped)
    }
}

/// The kernels that a setting names.
pub fn kernel_set(set: KernelSet) -> Kernels {
    match set {
        KernelSet::Reference => Kernels::Reference,
        KernelSet::Dequantize => Kernels::Dequantize,
        KernelSet::Int8 => Kernels::Int8,
    }
}
