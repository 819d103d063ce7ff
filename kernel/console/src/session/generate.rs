//! One generation: the prompt is worked in, then token after token until something ends it.

use super::inbox::Inbox;
use super::model::Model;
use super::outcome::{Finish, Outcome};
use super::platform::{Phase, Platform};
use super::seat::Seat;
use super::shell::Shell;
use crate::Utf8Stream;
use crate::json::{Id, LogitsRequest, Positions};
use crate::settings::Settings;
use alloc::string::String;
use core::cell::RefCell;
use core::fmt;
use llm::engine::EngineError;
use llm::lookup::Lookup;
use llm::run_state::CoreCounts;
use llm::sampler::Sampler;
use llm::tokenizer::TokenId;
use parallel::Cores;

/// What to generate.
pub struct Plan<'a> {
    /// The whole prompt; what of it the model has seen already is not worked in again.
    pub prompt: &'a [TokenId],
    /// The most tokens to generate.
    pub max_tokens: usize,
    /// The seed that the chooser was made with; reported back.
    pub seed: u64,
    /// Whether end-of-generation tokens end nothing.
    pub ignore_eos: bool,
    /// Whether the first token's leading space is the tokenizer's and not the answer's.
    pub trim_leading_space: bool,
    /// Which logits are reported.
    pub logits: LogitsRequest,
    /// Whether the work of each core is reported.
    pub counts: bool,
}

/// Where a generation goes.
pub trait Sink {
    /// A token was chosen. `text` is what became certain with it: whole characters, or nothing yet.
    fn token(&mut self, id: TokenId, text: &str);
    /// Text that was held back until the end.
    fn rest(&mut self, text: &str);
    /// The logits after the token at `position`, when they were asked for.
    fn logits(&mut self, position: usize, logits: &[f32]);
    /// What core `core` did in `phase`, when it was asked for.
    fn counts(&mut self, phase: Phase, core: usize, counts: CoreCounts);
}

/// Why nothing, or nothing more, was generated.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The prompt has no token.
    EmptyPrompt,
    /// The prompt has more tokens than the context leaves room for.
    PromptTooLong {
        /// Tokens of the prompt.
        tokens: usize,
        /// Tokens that the context takes.
        context_len: usize,
    },
    /// An id that the vocabulary does not have.
    UnknownToken {
        /// The id.
        id: u32,
        /// The number of ids.
        vocab_size: usize,
    },
    /// No logit is a finite number.
    NoFiniteLogit {
        /// The token whose logits these are.
        position: usize,
    },
    /// The decoder failed.
    Model(EngineError),
}

impl Failure {
    /// The `code` of the error event.
    pub fn code(&self) -> &'static str {
        match self {
            Self::EmptyPrompt => "empty_prompt",
            Self::PromptTooLong { .. } => "prompt_too_long",
            Self::UnknownToken { .. } => "bad_value",
            Self::NoFiniteLogit { .. } | Self::Model(_) => "model_failed",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyPrompt => f.write_str("the prompt is empty"),
            Self::PromptTooLong {
                tokens,
                context_len,
            } => write!(
                f,
                "the prompt has {tokens} tokens and the context takes {context_len}, of which the answer needs \
                 some: shorten it, or forget the conversation with /reset"
            ),
            Self::UnknownToken { id, vocab_size } => {
                write!(
                    f,
                    "token id {id} does not exist: the vocabulary has {vocab_size}"
                )
            }
            Self::NoFiniteLogit { position } => {
                write!(
                    f,
                    "the model gives no finite logit after token {position}: its file is damaged"
                )
            }
            Self::Model(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Failure {}

impl<P: Platform> Shell<'_, P> {
    /// Generates what `plan` says for request `id`; Ctrl-C and an abort of that request stop it.
    ///
    /// # Errors
    /// [`Failure`]; the model then holds what was worked in.
    pub(super) fn generate(
        &self,
        id: Id,
        settings: &Settings,
        plan: &Plan<'_>,
        seat: &mut Seat<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, Failure> {
        let mut sampler = seat.sampler(settings, plan.seed);
        self.inbox.borrow_mut().begin(id);
        let done = generate(
            self.platform,
            settings,
            &mut *seat.model,
            &self.inbox,
            plan,
            &mut sampler,
            sink,
        );
        self.inbox.borrow_mut().end();
        done
    }
}

fn generate<P: Platform>(
    platform: &P,
    settings: &Settings,
    model: &mut dyn Model,
    inbox: &RefCell<Inbox<'_>>,
    plan: &Plan<'_>,
    sampler: &mut Sampler,
    sink: &mut dyn Sink,
) -> Result<Outcome, Failure> {
    check(plan.prompt, model)?;
    let cores = platform.cores(settings.cores);
    let stop = || inbox.borrow_mut().poll();
    let started = platform.now_us();
    let since = |start: u64| platform.now_us().saturating_sub(start);

    plan.prompt.iter().for_each(|&id| sampler.accept(id));
    let reused_tokens = model.reuse(plan.prompt);
    let mut outcome = Outcome {
        finish: Finish::Stop,
        prompt_tokens: plan.prompt.len(),
        reused_tokens,
        completion_tokens: 0,
        decode_steps: 0,
        lookup: Lookup {
            guess: settings.guess,
            ..Lookup::default()
        },
        prefill_us: 0,
        first_token_us: 0,
        decode_us: 0,
        seed: plan.seed,
        context_used: 0,
        context_len: model.context_len(),
        heap_growth_bytes: None,
    };

    if plan.counts {
        model.clear_counts();
    }
    platform.mark(Phase::Prefill);
    let new = &plan.prompt[reused_tokens..];
    let first = prefill(new, model, cores, &stop, plan, sampler, sink);
    platform.mark(Phase::Other);
    outcome.prefill_us = since(started);
    outcome.context_used = model.pos();
    let Some(mut next) = first? else {
        outcome.finish = Finish::Abort;
        return Ok(outcome);
    };

    let n_cores = platform.facts().cores;
    if plan.counts {
        report_counts(Phase::Prefill, n_cores, model, sink);
    }

    let mut text = TokenText::new(plan.trim_leading_space);
    let heap_before = platform.heap_used_bytes();
    let decode_started = platform.now_us();
    platform.mark(Phase::Decode);
    outcome.finish = loop {
        if model.tokenizer().is_eog(next) && !plan.ignore_eos {
            break Finish::Stop;
        }
        if plan.max_tokens == 0 {
            break Finish::Length;
        }
        text.pass_on(next, model, sink);
        outcome.completion_tokens += 1;
        if outcome.completion_tokens == 1 {
            outcome.first_token_us = since(started);
        }
        if stop() {
            break Finish::Abort;
        }
        if outcome.completion_tokens == plan.max_tokens {
            break Finish::Length;
        }
        let position = model.pos();
        if position == model.context_len() {
            break Finish::ContextFull;
        }
        let logits = model
            .decode_guessing(next, &mut outcome.lookup, cores)
            .map_err(Failure::Model)?;
        outcome.decode_steps += 1;
        next = choose(logits, position, plan, sampler, sink)?;
    };
    platform.mark(Phase::Other);
    text.finish(sink);
    outcome.decode_us = since(decode_started);
    if plan.counts {
        report_counts(Phase::Decode, n_cores, model, sink);
    }
    outcome.context_used = model.pos();
    outcome.heap_growth_bytes = platform
        .heap_used_bytes()
        .zip(heap_before)
        .map(|(after, before)| after as i64 - before as i64);
    Ok(outcome)
}

/// Reports what the cores did, and starts counting anew.
fn report_counts(phase: Phase, n_cores: usize, model: &mut dyn Model, sink: &mut dyn Sink) {
    for core in 0..n_cores {
        sink.counts(phase, core, model.counts(core));
    }
    model.clear_counts();
}

fn check(prompt: &[TokenId], model: &dyn Model) -> Result<(), Failure> {
    let vocab_size = model.tokenizer().vocab_size();
    let context_len = model.context_len();
    if prompt.is_empty() {
        return Err(Failure::EmptyPrompt);
    }
    if prompt.len() > context_len {
        return Err(Failure::PromptTooLong {
            tokens: prompt.len(),
            context_len,
        });
    }
    match prompt.iter().find(|id| id.index() >= vocab_size) {
        Some(id) => Err(Failure::UnknownToken {
            id: id.0,
            vocab_size,
        }),
        None => Ok(()),
    }
}

/// Works in what is new of the prompt and chooses the first token; `None` when it was stopped.
fn prefill(
    new: &[TokenId],
    model: &mut dyn Model,
    cores: &dyn Cores,
    stop: &dyn Fn() -> bool,
    plan: &Plan<'_>,
    sampler: &mut Sampler,
    sink: &mut dyn Sink,
) -> Result<Option<TokenId>, Failure> {
    let first = model.pos();
    let every_position = plan.logits.is_wanted() && plan.logits.positions == Positions::All;
    let piece_len = if every_position { 1 } else { new.len() };
    for (index, piece) in new.chunks(piece_len).enumerate() {
        let position = first + index * piece_len + piece.len() - 1;
        match model.prefill(piece, cores, stop) {
            Err(EngineError::Stopped) => return Ok(None),
            Err(error) => return Err(Failure::Model(error)),
            Ok(logits) if position + 1 == first + new.len() => {
                return choose(logits, position, plan, sampler, sink).map(Some);
            }
            Ok(logits) => sink.logits(position, logits),
        }
    }
    Ok(None)
}

/// Reports the logits after the token at `position` if they were asked for, and chooses from them.
fn choose(
    logits: &[f32],
    position: usize,
    plan: &Plan<'_>,
    sampler: &mut Sampler,
    sink: &mut dyn Sink,
) -> Result<TokenId, Failure> {
    if plan.logits.is_wanted() {
        sink.logits(position, logits);
    }
    let id = sampler
        .sample(logits)
        .ok_or(Failure::NoFiniteLogit { position })?;
    sampler.accept(id);
    Ok(id)
}

/// Tokens to text.
struct TokenText {
    stream: Utf8Stream,
    trim: bool,
    /// One character of four bytes may be completed by the first byte of a long token.
    pending: String,
}

impl TokenText {
    fn new(trim: bool) -> Self {
        // No token of any published vocabulary is longer; a longer one costs an allocation, nothing else.
        Self {
            stream: Utf8Stream::new(),
            trim,
            pending: String::with_capacity(1024),
        }
    }

    /// Control tokens have a name but no text.
    fn pass_on(&mut self, id: TokenId, model: &dyn Model, sink: &mut dyn Sink) {
        self.pending.clear();
        if !model.tokenizer().is_control(id) {
            let mut bytes = model.tokenizer().decode_bytes(id);
            if core::mem::take(&mut self.trim) {
                bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
            }
            let pending = &mut self.pending;
            self.stream
                .push(bytes, &mut |piece| pending.push_str(piece));
        }
        sink.token(id, &self.pending);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.stream.finish(&mut |piece| sink.rest(piece));
    }
}
