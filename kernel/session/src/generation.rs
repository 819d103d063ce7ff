//! One generation: the prompt is worked in, then token after token until something ends it.

mod plan;
mod timing;

use crate::chat::ActiveModel;
use crate::event_queue::EventQueue;
use crate::logits;
use crate::token_text::TokenText;
use alloc::vec::Vec;
use lab::{Machine, Report};
use llm::engine::EngineError;
use llm::lookup::Lookup;
use llm::repetition::Repetition;
use llm::sampler::{self, Sampler};
use llm::tokenizer::TokenId;
use protocol::Settings;
use protocol::event::{Counts, Done, Error, ErrorCode, Event, Finish, Generated, Phase, Usage};
use protocol::request::Positions;
use timing::Times;

pub(crate) use plan::{Plan, Source, check_ids};

/// What a generation works with.
pub(crate) struct Context<'c, 'e, M> {
    pub model: &'c mut ActiveModel<'e>,
    pub machine: &'c M,
    pub events: &'c mut EventQueue,
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
    /// What the answer is held against, if it must not repeat itself.
    repetition: Option<Repetition>,
    /// The tokens of an answer that belongs to the console's conversation.
    answer: Vec<TokenId>,
    usage: Usage,
    times: Times,
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
        context: &mut Context<'_, '_, M>,
    ) -> Result<Self, Error<'static>> {
        plan.check(context.model)?;
        let (engine, machine) = (&mut context.model.engine, context.machine);
        let started_us = machine.now_us();
        let tokenizer = engine.tokenizer();
        let mut sampler = Sampler::new(
            tokenizer.vocab_size(),
            sampler::Settings {
                temperature: settings.temperature_for(plan.asker),
                top_k: settings.top_k,
                top_p: settings.top_p,
                min_p: settings.min_p,
                repeat_penalty: settings.repeat_penalty_for(plan.asker),
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
            repetition: (settings.stop_repetition && !plan.ignore_eos).then(Repetition::default),
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
            times: Times {
                started_us,
                ..Times::default()
            },
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
        context: &mut Context<'_, '_, M>,
    ) -> Result<Option<Done>, Error<'static>> {
        let machine = context.machine;
        let stepped = match self.stage {
            Stage::Prefill(done) => self.prefill(done, context),
            Stage::Decode(id) => self.decode(id, context).map(Some),
        };
        context.events.spell(context.model.engine.tokenizer());
        let chosen = stepped.inspect_err(|_| machine.mark(Phase::Other))?;
        let Some(id) = chosen else {
            return Ok(None);
        };
        if let Stage::Prefill(_) = self.stage {
            machine.mark(Phase::Other);
            self.times.end_prefill(machine.now_us());
            self.report_counts(Phase::Prefill, context);
            self.heap_before = machine.heap_used_bytes();
            self.times.decode_started_us = machine.now_us();
            machine.mark(Phase::Decode);
        }
        self.stage = Stage::Decode(id);
        Ok(self
            .finish_of(id, context)
            .map(|finish| self.end(finish, context)))
    }

    /// Ends it before its time.
    pub fn stop<M: Machine>(&mut self, context: &mut Context<'_, '_, M>) -> Done {
        if let Stage::Prefill(_) = self.stage {
            self.times.end_prefill(context.machine.now_us());
        }
        self.end(Finish::Abort, context)
    }

    /// Works in the next batch of the prompt; the first token after the last batch.
    fn prefill<M: Machine>(
        &mut self,
        done: usize,
        context: &mut Context<'_, '_, M>,
    ) -> Result<Option<TokenId>, Error<'static>> {
        let cores = context.machine.cores(self.cores);
        let engine = &mut context.model.engine;
        let Plan { prompt, logits, .. } = &self.plan;
        let every_position = logits.is_wanted() && logits.logits_positions == Positions::All;
        let batch_len = if every_position { 1 } else { engine.batch() };
        let end = (done + batch_len).min(prompt.len());
        let batch = &prompt[done..end];
        self.stage = Stage::Prefill(end);
        let is_last = end == prompt.len();
        if !is_last && !every_position {
            engine.feed(batch, cores).map_err(model_failed)?;
            return Ok(None);
        }
        let wanted = *logits;
        let logits = engine.prefill(batch, cores).map_err(model_failed)?;
        if is_last {
            return self.choose(logits, end - 1, context.events).map(Some);
        }
        logits::report(wanted, end - 1, logits, context.events);
        Ok(None)
    }

    /// Works in the token that was chosen last; the next one.
    fn decode<M: Machine>(
        &mut self,
        id: TokenId,
        context: &mut Context<'_, '_, M>,
    ) -> Result<TokenId, Error<'static>> {
        let cores = context.machine.cores(self.cores);
        let engine = &mut context.model.engine;
        let position = engine.pos();
        let logits = engine
            .decode_speculating(id, &mut self.lookup, cores)
            .map_err(model_failed)?;
        self.times.decode_steps += 1;
        self.choose(logits, position, context.events)
    }

    /// Reports the logits after the token at `position` if they were asked for, and chooses from them.
    fn choose(
        &mut self,
        logits: &[f32],
        position: usize,
        out: &mut EventQueue,
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
        context: &mut Context<'_, '_, M>,
    ) -> Option<Finish> {
        let engine = &context.model.engine;
        if engine.tokenizer().is_eog(id) && !self.plan.ignore_eos {
            return Some(Finish::Stop);
        }
        if self.max_tokens == 0 {
            return Some(Finish::Length);
        }
        self.text.pass_on(id, engine.tokenizer(), context.events);
        if self.plan.source == Source::Conversation {
            self.answer.push(id);
        }
        self.usage.completion_tokens += 1;
        if self.usage.completion_tokens == 1 {
            let now_us = context.machine.now_us();
            self.times.first_token_us = now_us.saturating_sub(self.times.started_us);
        }
        if self.usage.completion_tokens == self.max_tokens {
            return Some(Finish::Length);
        }
        let bytes = engine.tokenizer().decode_bytes(id);
        if let Some(repetition) = &mut self.repetition
            && repetition.push(id, bytes)
        {
            return Some(Finish::Repetition);
        }
        (engine.pos() == engine.context_len()).then_some(Finish::ContextFull)
    }

    fn end<M: Machine>(&mut self, finish: Finish, context: &mut Context<'_, '_, M>) -> Done {
        let machine = context.machine;
        machine.mark(Phase::Other);
        self.text.finish(context.events);
        let is_prefilled = matches!(self.stage, Stage::Decode(_));
        if is_prefilled {
            self.times.end_decode(machine.now_us());
            self.report_counts(Phase::Decode, context);
        }
        let model = &mut *context.model;
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
                timing: self
                    .times
                    .record(finish, &self.usage, machine.facts().emulated),
                seed: self.plan.seed,
                heap_growth_bytes: heap_after.zip(self.heap_before).map(growth),
            }),
            ..Done::default()
        }
    }

    /// Reports what the cores did, if that was asked for, and starts counting anew.
    fn report_counts<M: Machine>(&self, phase: Phase, context: &mut Context<'_, '_, M>) {
        if !self.plan.counts {
            return;
        }
        let engine = &mut context.model.engine;
        for core in 0..context.machine.facts().cores {
            let counts = engine.counts(core);
            context.events.event(Event::Counts(Counts {
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
