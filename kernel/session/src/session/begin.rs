//! What each op begins.

use super::{Outcome, Session, Step, Task, no_model};
use crate::chat::ActiveModel;
use crate::generation::{Generation, Plan, Source, check_ids};
use crate::load;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use lab::bench::ModelBench;
use lab::kernels::KernelBench;
use lab::membw::MemoryBench;
use lab::perplexity::TextBench;
use lab::sd::SdBench;
use lab::selftest::Selftest;
use lab::{Experiment, Machine, Report};
use llm::tokenizer::TokenId;
use protocol::event::{
    Changed, Done, Error, ErrorCode, Event, Info, Limits, Log, ModelEntry, Models, Text, Tokens,
};
use protocol::facts::ModelFacts;
use protocol::request::{Logits, Message, Prompt, Sampling};
use protocol::settings::Asker;
use protocol::{Op, Setting, Settings};

/// What runs on `machine`.
pub fn info(machine: &impl Machine, settings: &Settings, model: Option<ModelFacts>) -> Info {
    Info {
        firmware: Cow::Borrowed("PiLM"),
        version: machine.facts().version.clone(),
        board: machine.facts().clone(),
        health: machine.health(),
        model,
        settings: settings.clone(),
        limits: Limits::THIS,
    }
}

impl<'m, M: Machine> Session<'_, 'm, M> {
    /// What runs here; may be asked between two steps.
    pub fn info(&self) -> Info {
        let model = self.model.as_ref().map(|model| ModelFacts {
            context_used: model.engine.pos(),
            ..model.facts.clone()
        });
        info(self.machine, &self.state.settings, model)
    }

    /// Answers the op, or says what goes on.
    pub(super) fn begin(&mut self, op: Op, asker: Asker) -> Result<Outcome<'m, M>, Error<'static>> {
        op.check()?;
        let machine = self.machine;
        let out = &mut self.state.events;
        match op {
            Op::Info(_) => {
                let info = Event::Info(Box::new(self.info()));
                self.state.events.event(info);
            }
            Op::Log(_) => out.event(Event::Log(Log {
                lines: machine.details().lines().map(String::from).collect(),
            })),
            Op::Models(_) => {
                let files = machine
                    .models()
                    .map_err(|error| Error::new(ErrorCode::Card, error))?;
                let loaded = self.model.as_ref().map(|model| &model.facts.file);
                let entry = |file: lab::machine::ModelEntry| ModelEntry {
                    loaded: loaded == Some(&file.name),
                    name: file.name,
                    bytes: file.len_bytes,
                };
                let models = files.into_iter().map(entry).collect();
                out.event(Event::Models(Models { models }));
            }
            Op::Load(load) => {
                self.state.opened = Some(Box::new(load::open(machine, &load.name)?));
                return Ok(Outcome::Step(Step::Reload));
            }
            Op::Reset(_) => {
                if let Some(model) = &mut self.model {
                    model.forget();
                }
            }
            Op::Abort(_) => {
                return Ok(Outcome::Done(Box::new(Done {
                    aborted: Some(false),
                    ..Done::default()
                })));
            }
            Op::Set(set) => {
                let setting = self.set(&set.key, &set.value.word())?;
                let changed = Changed::new(setting, &self.state.settings);
                self.state.events.event(Event::Settings(changed));
            }
            Op::Reboot(_) => {
                out.event(Event::Done(Done::default()));
                return Ok(Outcome::Step(Step::Reboot));
            }
            Op::Tokenize(tokenize) => {
                let tokenizer = self.model.as_ref().ok_or_else(no_model)?.engine.tokenizer();
                let ids = tokenizer.encode(&tokenize.text, tokenize.special);
                out.event(Event::Tokens(Tokens {
                    count: ids.len(),
                    ids: ids.into_iter().map(|id| id.0).collect(),
                }));
            }
            Op::Detokenize(detokenize) => {
                let model = self.model.as_ref().ok_or_else(no_model)?;
                let ids: Vec<TokenId> = detokenize.ids.into_iter().map(TokenId).collect();
                check_ids(&ids, model)?;
                let bytes = model.engine.tokenizer().decode(&ids);
                out.event(Event::Text(Text {
                    text: Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
                }));
            }
            Op::Complete(complete, sampling, logits) => {
                let model = self.model.as_ref().ok_or_else(no_model)?;
                let (prompt, source) = match complete.prompt()? {
                    Prompt::Ids(ids) => (ids.iter().copied().map(TokenId).collect(), Source::Text),
                    Prompt::Raw { text, special } => {
                        (model.raw_prompt(text, special), Source::Text)
                    }
                    Prompt::Question(text) => {
                        let question = [Message {
                            role: String::from("user"),
                            content: text.into(),
                        }];
                        (
                            model.render(&question, &self.state.settings)?,
                            Source::Messages,
                        )
                    }
                };
                return self.generate(prompt, source, asker, &sampling, logits);
            }
            Op::Chat(chat, sampling, logits) => {
                let model = self.model.as_ref().ok_or_else(no_model)?;
                let prompt = model.render(&chat.messages, &self.state.settings)?;
                return self.generate(prompt, Source::Messages, asker, &sampling, logits);
            }
            Op::Ask(ask) => {
                let model = self.model.as_ref().ok_or_else(no_model)?;
                let prompt = model.ask(&ask.text, &self.state.settings);
                let source = Source::Conversation;
                return self.generate(
                    prompt,
                    source,
                    asker,
                    &Sampling::default(),
                    Logits::default(),
                );
            }
            Op::Bench(bench) => {
                let plan = bench.plan(machine.facts().emulated);
                let kernels = self.state.settings.kernels;
                return experiment(ModelBench::new(plan, kernels, &mut self.lab())?);
            }
            Op::Kernels(kernels) => {
                return experiment(KernelBench::new(kernels.runs, &mut self.lab())?);
            }
            Op::Ppl(ppl) => {
                let text = TextBench::new(&ppl, &mut self.lab())?;
                self.model.iter_mut().for_each(ActiveModel::forget);
                return experiment(text);
            }
            Op::Membw(membw) => return experiment(MemoryBench::new(&membw, &self.lab())?),
            Op::Sd(_) => return experiment(SdBench::new(&mut self.lab())?),
            Op::Selftest(_) => {
                self.model.iter_mut().for_each(ActiveModel::forget);
                return experiment(Selftest::default());
            }
        }
        Ok(Outcome::Done(Box::default()))
    }

    fn generate(
        &mut self,
        prompt: Vec<TokenId>,
        source: Source,
        asker: Asker,
        sampling: &Sampling,
        logits: Logits,
    ) -> Result<Outcome<'m, M>, Error<'static>> {
        let settings = sampling.over(&self.state.settings)?;
        let plan = Plan {
            prompt,
            source,
            asker,
            seed: self.seed(&settings),
            ignore_eos: sampling.ignore_eos,
            logits,
            counts: sampling.counts,
        };
        let generation = Generation::new(plan, &settings, &mut self.context()?)?;
        Ok(Outcome::Task(Task::Generation(Box::new(generation))))
    }

    /// The seed of the next answer: the setting, or one that the clock gives.
    /// Gives a setting a value.
    fn set(&mut self, key: &str, value: &str) -> Result<Setting, Error<'static>> {
        let mut settings = self.state.settings.clone();
        let setting = settings
            .set(key, value)
            .map_err(|error| Error::new(ErrorCode::BadValue, error))?;
        if setting == Setting::Baud
            && let (Some(baud), Some(max)) = (settings.baud, self.machine.facts().max_baud)
            && baud > max
        {
            let message =
                format_args!("baud cannot be {baud}: the serial line runs at {max} at most");
            return Err(Error::new(ErrorCode::BadValue, message));
        }
        self.state.settings = settings;
        self.state.layers.note(setting, value);
        Ok(setting)
    }

    fn seed(&mut self, settings: &Settings) -> u64 {
        settings.seed.unwrap_or_else(|| {
            self.state.draws += 1;
            // 2^64 divided by the golden ratio: neighbouring numbers give distant seeds. 53 bits remain, so
            // that every JSON reader can hand the seed back unchanged.
            let number = self.machine.entropy().wrapping_add(self.state.draws);
            number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11
        })
    }
}

fn experiment<'m, M: Machine>(
    experiment: impl Experiment<M> + 'static,
) -> Result<Outcome<'m, M>, Error<'static>> {
    Ok(Outcome::Task(Task::Experiment(Box::new(experiment))))
}
