//! `/membw`: how fast the cores read, write and copy memory.
//!
//! Each sample is one region that all cores run: passes over a buffer that is small enough for the L1
//! caches, fits the shared L2, or does not fit any. Configurations take turns in random order; a sample
//! in whose window an interrupt was taken is thrown away and counted.

use super::events::Events;
use super::inbox::Stop;
use super::platform::{BoardFacts, Platform};
use super::samples::{Samples, shuffled};
use super::screen::say;
use super::shell::Shell;
use crate::json::{Id, MembwRequest};
use alloc::vec::Vec;
use core::fmt;
use core::hint::black_box;
use ops::arena::{Arena, Line};
use ops::bandwidth;
use ops::lanes::F32x4;
use parallel::{Core, Cores, Shared};

/// Samples per configuration unless asked otherwise.
const RUNS: usize = 10;
/// The most samples per configuration.
const MAX_RUNS: usize = 1000;
/// Order of the configurations.
const SEED: u64 = 1;
/// Bytes that one sample moves, on a board and in an emulator.
const SAMPLE_BYTES: [usize; 2] = [256 << 20, 4 << 20];
/// Tries per sample, void ones included.
const TRIES: usize = 3;

/// What is done to the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Read,
    Write,
    Copy,
}

impl Action {
    const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Copy];

    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Copy => "copy",
        }
    }
}

struct Configuration {
    action: Action,
    cores: usize,
    /// Size of the whole buffer.
    bytes: usize,
    samples: Samples,
}

/// Why there is no measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MembwError {
    /// Less memory is set aside than was asked for.
    TooLarge {
        /// What there is.
        bytes: usize,
    },
    /// A number of runs that is not possible.
    BadRuns,
}

impl fmt::Display for MembwError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => write!(
                f,
                "\"bytes\" must be from 4096 to {bytes}: so much memory is set aside"
            ),
            Self::BadRuns => write!(f, "\"runs\" must be from 1 to {MAX_RUNS}"),
        }
    }
}

impl<P: Platform> Shell<'_, P> {
    /// `/membw`.
    pub(super) fn membw(&mut self, scratch: &mut [Line]) {
        match self.measure_memory(MembwRequest::default(), &Id::None, scratch) {
            Ok((configurations, stopped)) => {
                let measured = |configuration: &&Configuration| !configuration.samples.is_empty();
                for configuration in configurations.iter().filter(measured) {
                    say!(
                        self.screen,
                        "{}",
                        Row(
                            configuration,
                            self.platform.facts(),
                            self.passes_bytes(configuration.bytes)
                        )
                    );
                }
                if stopped {
                    say!(self.screen, "stopped");
                }
            }
            Err(error) => say!(self.screen, "{error}"),
        }
    }

    /// The op `membw`.
    pub(super) fn membw_events(
        &mut self,
        events: &Events<'_>,
        id: &Id,
        request: MembwRequest,
        scratch: &mut [Line],
    ) {
        let (configurations, stopped) = match self.measure_memory(request, id, scratch) {
            Ok(measured) => measured,
            Err(error) => return events.error("bad_value", error),
        };
        let facts = self.platform.facts();
        for configuration in &configurations {
            let moved = self.passes_bytes(configuration.bytes);
            events.event("membw", |event| {
                event
                    .field("action", configuration.action.word())
                    .field("cores", configuration.cores)
                    .field("buffer_bytes", configuration.bytes)
                    .field("moved_bytes", moved)
                    .field("emulated", facts.emulated)
                    .field("version", facts.version.as_str())
                    .field("revision", format_args!("{:06x}", facts.revision));
                configuration.samples.write_fields(event);
                if !facts.emulated {
                    event.field(
                        "mean_gb_per_s",
                        moved as f64 / 1e9 / configuration.samples.mean(),
                    );
                }
            });
        }
        events.event("done", |event| {
            event.field("finish_reason", if stopped { "abort" } else { "stop" });
        });
    }

    /// Bytes that one sample on a buffer of `bytes` moves.
    fn passes_bytes(&self, bytes: usize) -> usize {
        let wanted = SAMPLE_BYTES[usize::from(self.platform.facts().emulated)];
        (wanted / bytes).max(1) * bytes
    }

    fn measure_memory(
        &mut self,
        request: MembwRequest,
        id: &Id,
        scratch: &mut [Line],
    ) -> Result<(Vec<Configuration>, bool), MembwError> {
        let room = size_of_val(scratch) & !0xFFFF;
        let runs = request.runs.unwrap_or(RUNS);
        if !(1..=MAX_RUNS).contains(&runs) {
            return Err(MembwError::BadRuns);
        }
        let sizes = match request.bytes {
            Some(bytes) if (4096..=room).contains(&bytes) => Vec::from([bytes & !0xFFF]),
            Some(_) => return Err(MembwError::TooLarge { bytes: room }),
            None => Vec::from([64 << 10, 512 << 10, room]),
        };
        let mut configurations = Vec::new();
        for action in Action::ALL {
            for &bytes in &sizes {
                for cores in 1..=self.platform.facts().cores {
                    let samples = Samples::with_capacity(runs);
                    configurations.push(Configuration {
                        action,
                        cores,
                        bytes,
                        samples,
                    });
                }
            }
        }
        self.inbox.borrow_mut().begin(id.clone());
        let mut stopped = false;
        'runs: for run in 0..runs {
            for at in shuffled(configurations.len(), SEED + run as u64) {
                if self.inbox.borrow_mut().poll() {
                    stopped = true;
                    break 'runs;
                }
                let configuration = &mut configurations[at];
                let moved = self.passes_bytes(configuration.bytes);
                self.sample(configuration, moved, scratch);
            }
        }
        let stop: Option<Stop> = self.inbox.borrow_mut().end();
        Ok((configurations, stopped || stop.is_some()))
    }

    fn sample(&self, configuration: &mut Configuration, moved: usize, scratch: &mut [Line]) {
        let cores = self.platform.cores(Some(configuration.cores));
        for _ in 0..TRIES {
            // Zeroed here, outside of the window: the buffer is touched before it is measured.
            let n = configuration.bytes / size_of::<F32x4>();
            let Ok(buffer) = Arena::new(scratch).slice::<F32x4>(n) else {
                return;
            };
            let irqs = self.platform.irqs_taken();
            let started = self.platform.now_us();
            pass_over(
                cores,
                configuration.action,
                moved / configuration.bytes,
                buffer,
            );
            let took = self.platform.now_us() - started;
            if self.platform.irqs_taken() == irqs {
                configuration.samples.push_us(took);
                return;
            }
            configuration.samples.void_runs += 1;
        }
    }
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

struct Row<'a>(&'a Configuration, &'a BoardFacts, usize);

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row(configuration, facts, moved) = self;
        let samples = &configuration.samples;
        write!(
            f,
            "{:<6} {:>6} KiB  {} core{}  ",
            configuration.action.word(),
            configuration.bytes >> 10,
            configuration.cores,
            if configuration.cores == 1 { " " } else { "s" }
        )?;
        if facts.emulated {
            write!(
                f,
                "{:.4} s +- {:.4} (emulated: no speed)",
                samples.mean(),
                samples.sd()
            )?;
        } else {
            let gigabytes = *moved as f64 / 1e9;
            let rate = gigabytes / samples.mean();
            write!(
                f,
                "{rate:7.2} GB/s +- {:.2}",
                rate * samples.sd() / samples.mean()
            )?;
        }
        write!(f, "  n {}", samples.len())?;
        if samples.void_runs > 0 {
            write!(f, " ({} void)", samples.void_runs)?;
        }
        Ok(())
    }
}
