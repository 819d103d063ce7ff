//! How fast the cores read, write and copy memory.
//!
//! Each sample is one region that all cores run: passes over a buffer that is small enough for the L1
//! caches, fits the shared L2, or does not fit any. Configurations take turns in random order; a sample
//! in whose window an interrupt was taken is thrown away and counted.

use crate::experiment::{Experiment, Lab};
use crate::machine::Machine;
use crate::samples::{Samples, Turns};
use alloc::vec::Vec;
use core::hint::black_box;
use ops::arena::Arena;
use ops::bandwidth;
use ops::lanes::F32x4;
use parallel::{Core, Cores, Shared};
use protocol::event::{Action, Done, Error, ErrorCode, Event, Membw};
use protocol::request;

/// Samples per configuration unless asked otherwise.
const RUNS: usize = 10;
/// Bytes that one sample moves, on a board and in an emulator.
const SAMPLE_BYTES: [usize; 2] = [256 << 20, 4 << 20];

struct Configuration {
    action: Action,
    cores: usize,
    /// Size of the whole buffer.
    bytes: usize,
    samples: Samples,
}

/// The measurement under way.
pub struct MemoryBench {
    configurations: Vec<Configuration>,
    turns: Turns,
}

impl MemoryBench {
    /// Measures what is asked for.
    ///
    /// # Errors
    /// A buffer that does not fit into the memory that is set aside.
    pub fn new<M: Machine>(
        request: &request::Membw,
        lab: &Lab<'_, '_, M>,
    ) -> Result<Self, Error<'static>> {
        let room = size_of_val(lab.scratch) & !0xFFFF;
        let runs = request.runs.unwrap_or(RUNS);
        let sizes = match request.bytes {
            Some(bytes) if (4096..=room).contains(&bytes) => Vec::from([bytes & !0xFFF]),
            Some(_) => {
                let message = format_args!(
                    "\"bytes\" must be from 4096 to {room}: so much memory is set aside"
                );
                return Err(Error::new(ErrorCode::BadValue, message));
            }
            None => Vec::from([64 << 10, 512 << 10, room]),
        };
        let mut configurations = Vec::new();
        for action in Action::ALL {
            for &bytes in &sizes {
                configurations.extend((1..=lab.machine.facts().cores).map(|cores| Configuration {
                    action,
                    cores,
                    bytes,
                    samples: Samples::with_capacity(runs),
                }));
            }
        }
        Ok(Self {
            turns: Turns::new(configurations.len(), runs),
            configurations,
        })
    }
}

impl<M: Machine> Experiment<M> for MemoryBench {
    /// One sample.
    fn step(&mut self, lab: &mut Lab<'_, '_, M>) -> Result<bool, Error<'static>> {
        let Some((_, at)) = self.turns.current() else {
            return Ok(true);
        };
        let machine = lab.machine;
        let configuration = &mut self.configurations[at];
        let passes =
            moved_bytes(configuration.bytes, machine.facts().emulated) / configuration.bytes;
        let cores = machine.cores(Some(configuration.cores));
        // Zeroed here, outside of the window: the buffer is touched before it is measured.
        let n = configuration.bytes / size_of::<F32x4>();
        if let Ok(buffer) = Arena::new(lab.scratch).slice::<F32x4>(n) {
            let action = configuration.action;
            let samples = &mut configuration.samples;
            samples.time(machine, || pass_over(cores, action, passes, buffer));
        }
        self.turns.advance();
        Ok(false)
    }

    fn end(&mut self, stopped: bool, lab: &mut Lab<'_, '_, M>) -> Done {
        let board = lab.machine.facts();
        for configuration in &self.configurations {
            let moved = moved_bytes(configuration.bytes, board.emulated);
            let rate = configuration.samples.per_second(moved as f64 / 1e9);
            lab.report.event(Event::Membw(Membw {
                action: configuration.action,
                cores: configuration.cores,
                buffer_bytes: configuration.bytes,
                moved_bytes: moved,
                emulated: board.emulated,
                version: board.version.clone(),
                revision: board.revision,
                samples: configuration.samples.record(),
                mean_gb_per_s: rate.filter(|_| !board.emulated),
            }));
        }
        Done::measured(stopped)
    }
}

/// Bytes that one sample on a buffer of `bytes` moves.
fn moved_bytes(bytes: usize, emulated: bool) -> usize {
    (SAMPLE_BYTES[usize::from(emulated)] / bytes).max(1) * bytes
}

/// Goes over `buffer` some times, each core over its own part.
fn pass_over(cores: &dyn Cores, action: Action, passes: usize, buffer: &mut [F32x4]) {
    // A copy goes from one half to the other: what is read and what is written are one buffer together.
    let (from, to) = buffer.split_at_mut(buffer.len() / 2);
    let (from, to) = (Shared::new(from), Shared::new(to));
    cores.run(&|core: &mut Core<'_>| match action {
        Action::Read => {
            let from = &core.read(&from)[core.share(from.len(), 0)];
            let to = &core.read(&to)[core.share(to.len(), 0)];
            for _ in 0..passes {
                black_box(bandwidth::read(black_box(from)));
                black_box(bandwidth::read(black_box(to)));
            }
        }
        Action::Write => {
            let (_, from) = core.part(&from, from.len(), 1, 0);
            let (_, to) = core.part(&to, to.len(), 1, 0);
            for pass in 0..passes {
                bandwidth::write(black_box(&mut *from), pass as f32);
                bandwidth::write(black_box(&mut *to), pass as f32);
            }
        }
        Action::Copy => {
            let from = &core.read(&from)[core.share(from.len(), 0)];
            let (_, to) = core.part(&to, to.len(), 1, 0);
            for _ in 0..passes {
                bandwidth::copy(black_box(from), black_box(&mut *to));
            }
        }
    });
}
