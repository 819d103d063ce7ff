//! How fast the loaded model works in a prompt and decodes.
//!
//! Every run starts from an empty context. A run is one prefill and then as many decode steps as asked,
//! each phase timed directly; in its window no byte is sent, no mailbox is asked and nothing is allocated.
//! Core counts take turns in random order; the first run of each is a warm-up and is thrown away. A run in
//! whose window an interrupt was taken is thrown away and counted.

use crate::experiment::{Experiment, Lab, model_failed};
use crate::machine::Machine;
use crate::samples::{Moment, Samples, Turns, begin_window, end_window, now};
use alloc::boxed::Box;
use alloc::vec::Vec;
use llm::tokenizer::TokenId;
use protocol::event::{self, Done, Error, ErrorCode, Event, Phase};
use protocol::facts::{Conditions, Health};
use protocol::request::BenchPlan;
use protocol::settings::KernelSet;

/// The measurement under way.
pub struct ModelBench {
    plan: BenchPlan,
    kernels: KernelSet,
    /// Prompt, then answer.
    ids: Vec<TokenId>,
    turns: Turns,
    /// Of each number of cores: prefill and decode.
    samples: Vec<[Samples; 2]>,
    /// How many tokens of the run are in the context.
    done: usize,
    /// The start of the phase.
    started: Moment,
    /// The most tokens that a run found in the context at its start.
    reused_tokens: usize,
    /// The board before the first run.
    health: Health,
}

impl ModelBench {
    /// Measures `plan` with the kernels called `kernels`.
    ///
    /// # Errors
    /// No model, or more tokens than its context takes.
    pub fn new<M: Machine>(
        plan: BenchPlan,
        kernels: KernelSet,
        lab: &mut Lab<'_, '_, M>,
    ) -> Result<Self, Error<'static>> {
        let n_cores = lab.machine.facts().cores;
        let engine = &lab.subject()?.engine;
        let context_len = engine.context_len();
        let n_tokens = plan.prompt_tokens.checked_add(plan.tokens);
        let fits = n_tokens.is_some_and(|n| n <= context_len);
        if plan.prompt_tokens == 0 || plan.tokens == 0 || !fits {
            let message = format_args!(
                "\"prompt_tokens\" and \"tokens\" must be above 0, and together at most {context_len}"
            );
            return Err(Error::new(ErrorCode::BadValue, message));
        }
        let samples = || [0, 1].map(|_| Samples::with_capacity(plan.runs));
        Ok(Self {
            plan,
            kernels,
            ids: ordinary_ids(
                plan.prompt_tokens + plan.tokens,
                engine.tokenizer().vocab_size(),
            ),
            turns: Turns::new(n_cores, plan.runs + 1),
            samples: (0..n_cores).map(|_| samples()).collect(),
            done: 0,
            started: Moment::default(),
            reused_tokens: 0,
            health: lab.machine.health(),
        })
    }
}

impl<M: Machine> Experiment<M> for ModelBench {
    /// One batch of the prompt, or one token.
    fn step(&mut self, lab: &mut Lab<'_, '_, M>) -> Result<bool, Error<'static>> {
        let Some((round, at)) = self.turns.current() else {
            return Ok(true);
        };
        let machine = lab.machine;
        let cores = machine.cores(Some(at + 1));
        let engine = &mut lab.subject()?.engine;
        let prompt_tokens = self.plan.prompt_tokens;
        if self.done == 0 {
            engine.truncate(0);
            self.reused_tokens = self.reused_tokens.max(engine.pos());
            self.started = begin_window(machine);
        }
        if self.done < prompt_tokens {
            let end = (self.done + engine.batch()).min(prompt_tokens);
            let batch = &self.ids[self.done..end];
            match end == prompt_tokens {
                true => engine.prefill(batch, cores).map(drop),
                false => engine.feed(batch, cores),
            }
            .map_err(model_failed)?;
            self.done = end;
        } else {
            engine
                .decode(self.ids[self.done], cores)
                .map_err(model_failed)?;
            self.done += 1;
        }
        let is_end = self.done == self.ids.len();
        if self.done == prompt_tokens || is_end {
            let is_as_asked = engine.pos() == self.done;
            let now = match is_end {
                true => end_window(machine),
                false => now(machine),
            };
            if round > 0 {
                let window = [self.started, now];
                self.samples[at][usize::from(is_end)].keep(window, is_as_asked);
            }
            self.started = now;
        }
        if is_end {
            self.done = 0;
            self.turns.advance();
        }
        Ok(false)
    }

    fn end(&mut self, stopped: bool, lab: &mut Lab<'_, '_, M>) -> Done {
        // It may have been stopped within a window.
        lab.machine.hold_output(false);
        let board = lab.machine.facts();
        let health = lab.machine.health();
        let Some(subject) = &mut lab.subject else {
            return Done::measured(stopped);
        };
        subject.engine.truncate(0);
        let facts = subject.facts;
        for (i, samples) in self.samples.iter().enumerate() {
            let plan = self.plan;
            let phases = [
                (Phase::Prefill, plan.prompt_tokens, 0),
                (Phase::Decode, plan.tokens, plan.prompt_tokens),
            ];
            for ((phase, tokens, context_start), samples) in phases.into_iter().zip(samples) {
                let rate = samples.per_second(tokens as f64);
                lab.report.event(Event::Bench(Box::new(event::Bench {
                    phase,
                    cores: i + 1,
                    tokens,
                    context_start,
                    reused_tokens: self.reused_tokens,
                    irqs_in_window: samples.irqs,
                    emulated: board.emulated,
                    model: facts.file.clone(),
                    format: facts.format.clone(),
                    kv: facts.kv.clone(),
                    context_len: facts.context_len,
                    kernels: self.kernels,
                    bytes_per_token: facts.bytes_per_token,
                    conditions: Conditions::new(board, [&self.health, &health], samples.clock_hz()),
                    samples: samples.record(),
                    tokens_per_s: rate.filter(|_| !board.emulated),
                })));
            }
        }
        Done::measured(stopped)
    }
}

/// Tokens that do not matter to the time: ordinary ones, the same for everybody.
pub(crate) fn ordinary_ids(n: usize, vocab_size: usize) -> Vec<TokenId> {
    (0..n)
        .map(|i| TokenId((i * 7919 % vocab_size) as u32))
        .collect()
}
