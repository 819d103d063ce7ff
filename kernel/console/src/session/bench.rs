//! `/bench`: how fast the loaded model works in a prompt and generates.
//!
//! Every run starts from an empty context. A run is one prefill and then as many decode steps as asked,
//! each phase timed directly; in its window no byte is sent, no mailbox is asked and nothing is allocated.
//! Core counts take turns in random order; the first run of each is a warm-up and is thrown away. A run in
//! whose window an interrupt was taken is thrown away and counted.

use super::events::Events;
use super::generate::Failure;
use super::platform::{BoardFacts, Platform};
use super::samples::{Samples, shuffled};
use super::screen::say;
use super::seat::Seat;
use super::shell::Shell;
use crate::json::{BenchRequest, Id};
use alloc::vec::Vec;
use core::fmt;
use llm::engine::EngineError;
use llm::tokenizer::TokenId;

/// Runs per configuration unless asked otherwise, on a board and in an emulator.
const RUNS: [usize; 2] = [10, 2];
/// The most runs per configuration.
const MAX_RUNS: usize = 1000;
/// Tokens of the prompt unless asked otherwise.
const PROMPT_TOKENS: [usize; 2] = [128, 16];
/// Tokens generated per run unless asked otherwise.
const TOKENS: [usize; 2] = [64, 4];
/// Order of the configurations, and choice of the tokens.
const SEED: u64 = 1;

/// What one configuration came to.
pub(super) struct Bench {
    pub cores: usize,
    pub prefill: Samples,
    pub decode: Samples,
}

impl Bench {
    fn has_runs(&self) -> bool {
        let [prefill, decode] = [&self.prefill, &self.decode];
        [prefill, decode]
            .iter()
            .any(|samples| !samples.is_empty() || samples.void_runs > 0)
    }
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    runs: usize,
    prompt_tokens: usize,
    tokens: usize,
}

/// Why there is no measurement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BenchError {
    /// A number of runs that is not possible.
    BadRuns,
    /// More tokens than the context takes, or none.
    BadTokens { context_len: usize },
    /// The decoder failed.
    Failed(Failure),
}

impl BenchError {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::BadRuns | Self::BadTokens { .. } => "bad_value",
            Self::Failed(failure) => failure.code(),
        }
    }
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRuns => write!(f, "\"runs\" must be from 1 to {MAX_RUNS}"),
            Self::BadTokens { context_len } => {
                write!(
                    f,
                    "\"prompt_tokens\" and \"tokens\" must be above 0, and together at most {context_len}"
                )
            }
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

impl<P: Platform> Shell<'_, P> {
    /// `/bench`.
    pub(super) fn bench(&mut self, runs: Option<usize>, seat: &mut Seat<'_>) {
        let request = BenchRequest {
            runs,
            ..BenchRequest::default()
        };
        let plan = self.bench_plan(request);
        say!(
            self.screen,
            "{} runs of {} prompt tokens and {} answer tokens per core count, {} kernels; Ctrl-C stops",
            plan.runs,
            plan.prompt_tokens,
            plan.tokens,
            self.settings.kernels
        );
        match self.measure_model(request, &Id::None, seat) {
            Ok((benches, stopped)) => {
                let facts = self.platform.facts();
                for bench in benches.iter().filter(|bench| bench.has_runs()) {
                    say!(
                        self.screen,
                        "prefill  {}",
                        Row(bench.cores, &bench.prefill, plan.prompt_tokens, facts)
                    );
                    say!(
                        self.screen,
                        "decode   {}",
                        Row(bench.cores, &bench.decode, plan.tokens, facts)
                    );
                }
                if stopped {
                    say!(self.screen, "stopped");
                }
            }
            Err(error) => say!(self.screen, "{error}"),
        }
    }

    /// The op `bench`.
    pub(super) fn bench_events(
        &mut self,
        events: &Events<'_>,
        id: &Id,
        request: BenchRequest,
        seat: &mut Seat<'_>,
    ) {
        let plan = self.bench_plan(request);
        let (benches, stopped) = match self.measure_model(request, id, seat) {
            Ok(measured) => measured,
            Err(error) => return events.error(error.code(), error),
        };
        let facts = self.platform.facts();
        let health = self.platform.health();
        for bench in &benches {
            for (phase, samples, tokens, start) in [
                ("prefill", &bench.prefill, plan.prompt_tokens, 0),
                ("decode", &bench.decode, plan.tokens, plan.prompt_tokens),
            ] {
                events.event("bench", |event| {
                    event
                        .field("phase", phase)
                        .field("cores", bench.cores)
                        .field("tokens", tokens)
                        .field("context_start", start)
                        .field("reused_tokens", 0u32)
                        .field("irqs_in_window", 0u32)
                        .field("emulated", facts.emulated)
                        .field("model", seat.facts.file.as_str())
                        .field("format", seat.facts.header.format.as_str())
                        .field("kv", seat.facts.kv)
                        .field("kernels", self.settings.kernels.name())
                        .field("bytes_per_token", seat.facts.header.bytes_per_token)
                        .field("version", facts.version.as_str())
                        .field("revision", format_args!("{:06x}", facts.revision))
                        .field("clock_hz", facts.clock_hz)
                        .field("celsius", health.celsius)
                        .field("throttled", health.throttled);
                    samples.write_fields(event);
                    if !facts.emulated {
                        event.field("tokens_per_s", tokens as f64 / samples.mean());
                    }
                });
            }
        }
        events.event("done", |event| {
            event.field("finish_reason", if stopped { "abort" } else { "stop" });
        });
    }

    fn bench_plan(&self, request: BenchRequest) -> Plan {
        let emulated = usize::from(self.platform.facts().emulated);
        Plan {
            runs: request.runs.unwrap_or(RUNS[emulated]),
            prompt_tokens: request.prompt_tokens.unwrap_or(PROMPT_TOKENS[emulated]),
            tokens: request.tokens.unwrap_or(TOKENS[emulated]),
        }
    }

    fn measure_model(
        &mut self,
        request: BenchRequest,
        id: &Id,
        seat: &mut Seat<'_>,
    ) -> Result<(Vec<Bench>, bool), BenchError> {
        let plan = self.bench_plan(request);
        let context_len = seat.model.context_len();
        if !(1..=MAX_RUNS).contains(&plan.runs) {
            return Err(BenchError::BadRuns);
        }
        let fits = plan
            .prompt_tokens
            .checked_add(plan.tokens)
            .is_some_and(|n| n <= context_len);
        if plan.prompt_tokens == 0 || plan.tokens == 0 || !fits {
            return Err(BenchError::BadTokens { context_len });
        }
        // The tokens do not matter to the time; ordinary ones, the same for everybody.
        let vocab_size = seat.model.tokenizer().vocab_size();
        let ids: Vec<TokenId> = (0..plan.prompt_tokens + plan.tokens)
            .map(|i| TokenId((i * 7919 % vocab_size) as u32))
            .collect();
        let mut benches: Vec<Bench> = (1..=self.platform.facts().cores)
            .map(|cores| Bench {
                cores,
                prefill: Samples::with_capacity(plan.runs),
                decode: Samples::with_capacity(plan.runs),
            })
            .collect();
        self.inbox.borrow_mut().begin(id.clone());
        let mut done = Ok(());
        for run in 0..=plan.runs {
            for at in shuffled(benches.len(), SEED + run as u64) {
                if done.is_ok() {
                    done = self.run_once(&mut benches[at], run == 0, plan, &ids, seat);
                }
            }
        }
        self.inbox.borrow_mut().end();
        seat.model.clear();
        match done {
            Ok(()) => Ok((benches, false)),
            Err(EngineError::Stopped) => Ok((benches, true)),
            Err(error) => Err(BenchError::Failed(Failure::Model(error))),
        }
    }

    fn run_once(
        &self,
        bench: &mut Bench,
        is_warm_up: bool,
        plan: Plan,
        ids: &[TokenId],
        seat: &mut Seat<'_>,
    ) -> Result<(), EngineError> {
        let cores = self.platform.cores(Some(bench.cores));
        let stop = || self.inbox.borrow_mut().poll();
        if stop() {
            return Err(EngineError::Stopped);
        }
        let (prompt, answer) = ids.split_at(plan.prompt_tokens);
        seat.model.clear();

        let irqs = self.platform.irqs_taken();
        let started = self.platform.now_us();
        seat.model.prefill(prompt, cores, &stop)?;
        let prefilled = self.platform.now_us();
        let irqs_between = self.platform.irqs_taken();
        for &id in answer {
            // Only looks into memory: what arrives counts as an interrupt and voids the run.
            if stop() {
                return Err(EngineError::Stopped);
            }
            seat.model.decode(id, cores)?;
        }
        let decoded = self.platform.now_us();
        let irqs_after = self.platform.irqs_taken();

        if is_warm_up {
            return Ok(());
        }
        keep(
            &mut bench.prefill,
            prefilled - started,
            irqs_between == irqs,
        );
        keep(
            &mut bench.decode,
            decoded - prefilled,
            irqs_after == irqs_between,
        );
        Ok(())
    }
}

fn keep(samples: &mut Samples, us: u64, is_quiet: bool) {
    if is_quiet {
        samples.push_us(us);
    } else {
        samples.void_runs += 1;
    }
}

struct Row<'a>(usize, &'a Samples, usize, &'a BoardFacts);

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row(cores, samples, tokens, facts) = *self;
        write!(f, "{cores} core{}  ", if cores == 1 { " " } else { "s" })?;
        let (mean, sd) = (samples.mean(), samples.sd());
        if facts.emulated {
            write!(f, "{mean:.3} s +- {sd:.3} (emulated: no speed)")?;
        } else {
            let rate = tokens as f64 / mean;
            write!(
                f,
                "{rate:8.2} tok/s +- {:.2}  p50 {:.4} s  p99 {:.4} s",
                rate * sd / mean,
                samples.quantile(0.5),
                samples.quantile(0.99)
            )?;
        }
        write!(f, "  n {}", samples.len())?;
        if samples.void_runs > 0 {
            write!(f, " ({} void)", samples.void_runs)?;
        }
        Ok(())
    }
}
