//! One generation: the prompt is worked in, then token after token until something ends it.

use crate::chat::ActiveModel;
use crate::logits;
use crate::outbox::Outbox;
use crate::token_text::TokenText;
use alloc::vec::Vec;
use core::fmt;
use lab::{Machine, Report};
use llm::engine::{Engine, EngineError};
use llm::lookup::Lookup;
use llm::sampler::{self, Sampler};
use llm::tokenizer::TokenId;
use parallel::Cores;
use protocol::Settings;
use protocol::event::{
    Counts, Done, Error, ErrorCode, Event, Finish, Generated, Phase, Timing, Usage,
};
use protocol::request::{Logits, Positions};

/// What a prompt is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Text or tokens as they are.
    Text,
    /// A program's messages; the answer is one too.
    Messages,
    /// The console's conversation.
    Conversation,
}

/// What to generate.
pub(crate) struct Plan {
    /// The whole prompt; what of it the model has seen already is not worked in again.
    pub prompt: Vec<TokenId>,
    /// The seed of the sampler.
    pub seed: u64,
    /// Whether end-of-generation tokens end nothing.
    pub ignore_eos: bool,
    /// What the prompt is.
    pub source: Source,
    /// Which logits are reported.
    pub logits: Logits,
    /// Whether the work of each core is reported.
    pub counts: bool,
}

/// Where a generation stands.
enum Stage {
    /// So many tokens of the prompt are worked in.
    Prefill(usize),
    /// The token that was chosen last.
    Decode(TokenId),
}

/// A generation under way.
pub(crate) struct Generation {
    plan: Plan,
    stage: Stage,
    max_tokens: usize,
    cores: Option<usize>,
    sampler: Sampler,
    text: TokenText,
    lookup: Lookup,
    /// The tokens of an answer that belongs to the console's conversation.
    answer: Vec<TokenId>,
    usage: Usage,
    decode_steps: usize,
    started_us: u64,
    prefill_us: u64,
    first_token_us: u64,
    decode_started_us: u64,
    heap_before: Option<usize>,
}

impl Generation {
    /// Checks the prompt, and keeps of the context what it starts with.
    ///
    /// # Errors
    /// A prompt that is empty, too long, or has ids that the vocabulary lacks.
    pub fn new<M: Machine>(
        plan: Plan,
        settings: &Settings,
        model: &mut ActiveModel<'_>,
        machine: &M,
    ) -> Result<Self, Error<'static>> {
        let ActiveModel {
            engine,
            conversation,
            ..
        } = model;
        check(&plan, engine, !conversation.is_empty())?;
        let started_us = machine.now_us();
        let tokenizer = engine.tokenizer();
        let mut sampler = Sampler::new(
            tokenizer.vocab_size(),
            sampler::Settings {
                temperature: settings.temperature,
                top_k: settings.top_k,
                top_p: settings.top_p,
                min_p: settings.min_p,
                repeat_penalty: settings.repeat_penalty,
                seed: plan.seed,
                ..sampler::Settings::GREEDY
            },
        );
        plan.prompt.iter().for_each(|&id| sampler.accept(id));
        let text = TokenText::new(
            plan.source != Source::Text && tokenizer.has_leading_space(),
            tokenizer,
        );
        let context_len = engine.context_len();
        let reused_tokens = engine.reuse(&plan.prompt);
        if plan.counts {
            engine.clear_counts();
        }
        machine.mark(Phase::Prefill);
        Ok(Self {
            stage: Stage::Prefill(reused_tokens),
            max_tokens: settings.max_tokens.unwrap_or(usize::MAX),
            cores: settings.cores,
            sampler,
            text,
            lookup: Lookup {
                max_draft: settings.speculate,
                ..Lookup::default()
            },
            answer: Vec::with_capacity(if plan.source == Source::Conversation {
                context_len + 1
            } else {
                0
            }),
            usage: Usage {
                prompt_tokens: plan.prompt.len(),
                reused_tokens,
                context_len,
                ..Usage::default()
            },
            decode_steps: 0,
            started_us,
            prefill_us: 0,
            first_token_us: 0,
            decode_started_us: 0,
            heap_before: None,
            plan,
        })
    }

    /// Works in a batch of the prompt, or one token.
    ///
    /// # Errors
    /// The decoder failed; the model then holds what was worked in.
    pub fn step<M: Machine>(
        &mut self,
        model: &mut ActiveModel<'_>,
        machine: &M,
        out: &mut Outbox,
    ) -> Result<Option<Done>, Error<'static>> {
        let cores = machine.cores(self.cores);
        let stepped = match self.stage {
            Stage::Prefill(done) => self.prefill(done, &mut model.engine, cores, out),
            Stage::Decode(id) => self.decode(id, &mut model.engine, cores, out).map(Some),
        };
        let chosen = stepped.inspect_err(|_| machine.mark(Phase::Other))?;
        let Some(id) = chosen else {
            return Ok(None);
        };
        if let Stage::Prefill(_) = self.stage {
            machine.mark(Phase::Other);
            self.prefill_us = machine.now_us().saturating_sub(self.started_us);
            self.report_counts(Phase::Prefill, &mut model.engine, machine, out);
            self.heap_before = machine.heap_used_bytes();
            self.decode_started_us = machine.now_us();
            machine.mark(Phase::Decode);
        }
        self.stage = Stage::Decode(id);
        Ok(self
            .finish_of(id, &model.engine, machine, out)
            .map(|finish| self.end(finish, model, machine, out)))
    }

    /// Ends it before its time.
    pub fn stop<M: Machine>(
        &mut self,
        model: &mut ActiveModel<'_>,
        machine: &M,
        out: &mut Outbox,
    ) -> Done {
        if let Stage::Prefill(_) = self.stage {
            self.prefill_us = machine.now_us().saturating_sub(self.started_us);
        }
        self.end(Finish::Abort, model, machine, out)
    }

    /// Works in the next batch of the prompt; the first token after the last batch.
    fn prefill(
        &mut self,
        done: usize,
        engine: &mut Engine<'_>,
        cores: &dyn Cores,
        out: &mut Outbox,
    ) -> Result<Option<TokenId>, Error<'static>> {
        let Plan { prompt, logits, .. } = &self.plan;
        let every_position = logits.is_wanted() && logits.logits_positions == Positions::All;
        let batch_len = if every_position { 1 } else { engine.batch() };
        let end = (done + batch_len).min(prompt.len());
        let batch = &prompt[done..end];
        self.stage = Stage::Prefill(end);
        if end < prompt.len() && !every_position {
            engine.feed(batch, cores).map_err(model_failed)?;
            return Ok(None);
        }
        let is_last = end == prompt.len();
        let wanted = *logits;
        let logits = engine.prefill(batch, cores).map_err(model_failed)?;
        if is_last {
            return self.choose(logits, end - 1, out).map(Some);
        }
        logits::report(wanted, end - 1, logits, out);
        Ok(None)
    }

    /// Works in the token that was chosen last; the next one.
    fn decode(
        &mut self,
        id: TokenId,
        engine: &mut Engine<'_>,
        cores: &dyn Cores,
        out: &mut Outbox,
    ) -> Result<TokenId, Error<'static>> {
        let position = engine.pos();
        let logits = engine
            .decode_speculating(id, &mut self.lookup, cores)
            .map_err(model_failed)?;
        self.decode_steps += 1;
        self.choose(logits, position, out)
    }

    /// Reports the logits after the token at `position` if they were asked for, and chooses from them.
    fn choose(
        &mut self,
        logits: &[f32],
        position: usize,
        out: &mut Outbox,
    ) -> Result<TokenId, Error<'static>> {
        if self.plan.logits.is_wanted() {
            logits::report(self.plan.logits, position, logits, out);
        }
        let id = self.sampler.sample(logits).ok_or_else(|| {
            let message = format_args!(
                "the model gives no finite logit after token {position}: its file is damaged"
            );
            Error::new(ErrorCode::ModelFailed, message)
        })?;
        self.sampler.accept(id);
        Ok(id)
    }

    /// Passes the chosen token on, unless it ends the answer; why nothing comes after it.
    fn finish_of<M: Machine>(
        &mut self,
        id: TokenId,
        engine: &Engine<'_>,
        machine: &M,
        out: &mut Outbox,
    ) -> Option<Finish> {
        if engine.tokenizer().is_eog(id) && !self.plan.ignore_eos {
            return Some(Finish::Stop);
        }
        if self.max_tokens == 0 {
            return Some(Finish::Length);
        }
        self.text.pass_on(id, engine.tokenizer(), out);
        if self.plan.source == Source::Conversation {
            self.answer.push(id);
        }
        self.usage.completion_tokens += 1;
        if self.usage.completion_tokens == 1 {
            self.first_token_us = machine.now_us().saturating_sub(self.started_us);
        }
        if self.usage.completion_tokens == self.max_tokens {
            return Some(Finish::Length);
        }
        (engine.pos() == engine.context_len()).then_some(Finish::ContextFull)
    }

    fn end<M: Machine>(
        &mut self,
        finish: Finish,
        model: &mut ActiveModel<'_>,
        machine: &M,
        out: &mut Outbox,
    ) -> Done {
        machine.mark(Phase::Other);
        self.text.finish(out);
        let is_prefilled = matches!(self.stage, Stage::Decode(_));
        let decode_us = match is_prefilled {
            true => machine.now_us().saturating_sub(self.decode_started_us),
            false => 0,
        };
        if is_prefilled {
            self.report_counts(Phase::Decode, &mut model.engine, machine, out);
        }
        let Lookup {
            n_drafts,
            n_draft_tokens,
            n_accepted,
            ..
        } = self.lookup;
        self.usage = Usage {
            total_tokens: self.usage.prompt_tokens + self.usage.completion_tokens,
            drafts: n_drafts,
            draft_tokens: n_draft_tokens,
            accepted_tokens: n_accepted,
            context_used: model.engine.pos(),
            ..self.usage
        };
        if self.plan.source == Source::Conversation {
            model.conversation.clear();
            model.conversation.extend_from_slice(&self.plan.prompt);
            model.conversation.extend_from_slice(&self.answer);
        }
        let heap_after = machine.heap_used_bytes().filter(|_| is_prefilled);
        let growth = |(after, before)| after as i64 - before as i64;
        Done {
            finish_reason: Some(finish),
            generated: Some(Generated {
                usage: self.usage,
                timing: self.timing(finish, decode_us, machine.facts().emulated),
                seed: self.plan.seed,
                heap_growth_bytes: heap_after.zip(self.heap_before).map(growth),
            }),
            ..Done::default()
        }
    }

    /// Times. An emulator's are no speeds, and neither are those of a prompt that was stopped half-way.
    fn timing(&self, finish: Finish, decode_us: u64, emulated: bool) -> Timing {
        let stopped_in_prompt = finish == Finish::Abort && self.usage.completion_tokens == 0;
        let rate = |tokens: usize, us: u64| match us {
            0 => 0.0,
            us => tokens as f64 * 1e6 / us as f64,
        };
        let speed = |tokens, us| (!emulated && !stopped_in_prompt).then(|| rate(tokens, us));
        let decode_passes = self.decode_steps as u64 - self.lookup.n_accepted;
        Timing {
            emulated,
            prefill_s: self.prefill_us as f64 / 1e6,
            first_token_s: self.first_token_us as f64 / 1e6,
            decode_s: decode_us as f64 / 1e6,
            decode_steps: self.decode_steps,
            decode_passes,
            tokens_per_pass: (decode_passes > 0)
                .then(|| self.decode_steps as f64 / decode_passes as f64),
            prefill_tokens_per_s: speed(self.usage.prefilled(), self.prefill_us),
            decode_tokens_per_s: speed(self.decode_steps, decode_us),
        }
    }

    /// Reports what the cores did, if that was asked for, and starts counting anew.
    fn report_counts<M: Machine>(
        &self,
        phase: Phase,
        engine: &mut Engine<'_>,
        machine: &M,
        out: &mut Outbox,
    ) {
        if !self.plan.counts {
            return;
        }
        for core in 0..machine.facts().cores {
            let counts = engine.counts(core);
            out.event(Event::Counts(Counts {
                phase,
                core,
                gemv_rows: counts.gemv_rows,
                attention_blocks: counts.attention_blocks,
                barriers: counts.barriers,
                tensor_bytes: counts.tensor_bytes,
            }));
        }
        engine.clear_counts();
    }
}

fn model_failed(error: EngineError) -> Error<'static> {
    Error::new(ErrorCode::ModelFailed, error)
}

fn check(plan: &Plan, engine: &Engine<'_>, has_conversation: bool) -> Result<(), Error<'static>> {
    let vocab_size = engine.tokenizer().vocab_size();
    let context_len = engine.context_len();
    let tokens = plan.prompt.len();
    let refuse = |code, message: fmt::Arguments<'_>| Err(Error::new(code, message));
    if tokens == 0 {
        return refuse(ErrorCode::EmptyPrompt, format_args!("the prompt is empty"));
    }
    if tokens > context_len && plan.source == Source::Conversation && has_conversation {
        return refuse(
            ErrorCode::PromptTooLong,
            format_args!(
                "the context is full: with this question the conversation has {tokens} tokens and {context_len} fit. \
                 /reset starts a new one"
            ),
        );
    }
    if tokens > context_len {
        return refuse(
            ErrorCode::PromptTooLong,
            format_args!(
                "the prompt has {tokens} tokens and the context takes {context_len}, of which the answer needs \
                 some: shorten it, or forget the conversation with /reset"
            ),
        );
    }
    match plan.prompt.iter().find(|id| id.index() >= vocab_size) {
        Some(id) => refuse(
            ErrorCode::BadValue,
            format_args!(
                "token id {} does not exist: the vocabulary has {vocab_size}",
                id.0
            ),
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use llm::lookup::Lookup;
    use llm::sampler;
    use protocol::Settings;
    use protocol::settings::MAX_DRAFT_TOKENS;

    #[test]
    fn settings_may_be_what_the_sampler_takes() {
        for (key, range) in [
            ("temperature", sampler::Settings::TEMPERATURE),
            ("top_p", sampler::Settings::TOP_P),
            ("min_p", sampler::Settings::MIN_P),
            ("repeat_penalty", sampler::Settings::REPEAT_PENALTY),
        ] {
            let takes = |value: f32| Settings::default().set(key, &value.to_string()).is_ok();
            let (start, end) = range.into_inner();
            assert!(takes(start) && takes(end), "{key}");
            assert!(!takes(start - 0.001) && !takes(end + 0.001), "{key}");
        }
        assert_eq!(MAX_DRAFT_TOKENS, Lookup::MAX_DRAFT);
    }
}
