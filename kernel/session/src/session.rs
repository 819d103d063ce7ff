//! Requests in, steps, events out.

use crate::chat::ActiveModel;
use crate::generation::{Generation, Plan, Source};
use crate::load::{self, Opened};
use crate::outbox::Outbox;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use lab::bench::ModelBench;
use lab::experiment::NO_MODEL;
use lab::kernels::{KernelBench, kernel_set};
use lab::membw::MemoryBench;
use lab::perplexity::TextBench;
use lab::selftest::Selftest;
use lab::{Experiment, Lab, Machine, Report, Subject};
use llm::tokenizer::TokenId;
use ops::arena::Line;
use protocol::event::{
    Changed, Done, Error, ErrorCode, Event, Info, Limits, Loaded, ModelEntry, Models, Phase,
    Progress, Text, Tokens,
};
use protocol::facts::{BoardFacts, ModelFacts};
use protocol::request::{Logits, Message, Prompt, Sampling};
use protocol::{Id, Op, Request, Settings};

/// What outlives a model.
pub struct Kept<'m, M: Machine> {
    /// All settings.
    pub settings: Settings,
    waiting: VecDeque<Request>,
    outbox: Outbox,
    /// Number of answers that were asked for without a seed.
    draws: u64,
    /// The model to load next.
    opened: Option<Box<Opened<'m, M>>>,
}

impl<M: Machine> Kept<'_, M> {
    /// What there is at the start.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            waiting: VecDeque::new(),
            outbox: Outbox::new(),
            draws: 0,
            opened: None,
        }
    }
}

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing is asked for.
    Idle,
    /// Something was done; there is more to do, or to take.
    Busy,
    /// A model is to be loaded: a new session takes the RAM, and [`Session::into_kept`].
    Reload,
    /// The board is to be restarted.
    Reboot,
}

/// A request under way.
enum Task<'m, M: Machine> {
    Load(Box<Opened<'m, M>>),
    Generation(Box<Generation>),
    Experiment(Box<dyn Experiment<M>>),
}

/// What begins with a request.
enum Begun<'m, M: Machine> {
    /// It is over already.
    Done(Box<Done>),
    Task(Task<'m, M>),
    Step(Step),
}

/// One model, the requests that it answers, and the events that answer them.
pub struct Session<'s, 'm, M: Machine> {
    machine: &'m M,
    kept: Kept<'m, M>,
    /// Where a model goes; it has all of it.
    ram: Option<&'s mut [Line]>,
    /// Memory for measurements and for the selftest.
    scratch: &'s mut [Line],
    model: Option<ActiveModel<'s>>,
    /// What is under way: one for now.
    running: Vec<(Rc<Id>, Task<'m, M>)>,
}

impl<'s, 'm, M: Machine> Session<'s, 'm, M> {
    /// A session that loads what the one before has opened, if it has.
    pub fn new(
        machine: &'m M,
        mut kept: Kept<'m, M>,
        ram: &'s mut [Line],
        scratch: &'s mut [Line],
    ) -> Self {
        let opened = kept.opened.take();
        let id = kept.outbox.id().clone();
        Self {
            machine,
            kept,
            ram: Some(ram),
            scratch,
            model: None,
            running: opened
                .map(|opened| (id, Task::Load(opened)))
                .into_iter()
                .collect(),
        }
    }

    /// What is left when the model goes.
    pub fn into_kept(self) -> Kept<'m, M> {
        self.kept
    }

    /// All settings.
    pub fn settings(&self) -> &Settings {
        &self.kept.settings
    }

    /// The board.
    pub fn board(&self) -> &'m BoardFacts {
        self.machine.facts()
    }

    /// The loaded model.
    pub fn model(&self) -> Option<&ModelFacts> {
        self.model.as_ref().map(|model| &model.facts)
    }

    /// Whether something is under way that [`Session::stop`] can stop.
    pub fn can_stop(&self) -> bool {
        self.running
            .iter()
            .any(|(_, task)| !matches!(task, Task::Load(_)))
    }

    /// Whether the console's conversation has begun.
    pub fn has_conversation(&self) -> bool {
        self.model
            .as_ref()
            .is_some_and(|model| !model.conversation.is_empty())
    }

    /// Takes a request; those before it are answered first.
    pub fn submit(&mut self, request: Request) {
        self.kept.waiting.push_back(request);
    }

    /// The next event, and the name of its request.
    pub fn take(&mut self) -> Option<(&Id, Event<'_>)> {
        self.kept.outbox.take()
    }

    /// Stops what is under way, if it can be stopped; whether it could.
    pub fn stop(&mut self) -> bool {
        if !self.can_stop() {
            return false;
        }
        let Some((id, task)) = self.running.pop() else {
            return false;
        };
        self.kept.outbox.answers(&id);
        let done = match (task, &mut self.model) {
            (Task::Generation(mut generation), Some(model)) => {
                generation.stop(model, self.machine, &mut self.kept.outbox)
            }
            (Task::Experiment(mut experiment), _) => experiment.end(true, &mut self.lab()),
            _ => Done::measured(true),
        };
        self.kept.outbox.event(Event::Done(done));
        true
    }

    /// Does the next piece of work. A load is one piece, and tells `hear` of its file and its progress
    /// meanwhile.
    pub fn step(&mut self, hear: &mut dyn FnMut(&Id, &str, Progress)) -> Step {
        if let Some((id, task)) = self.running.pop() {
            self.kept.outbox.answers(&id);
            let begun = self.go_on(task, &id, hear);
            return self.settle(id, begun);
        }
        let Some(Request { id, op }) = self.kept.waiting.pop_front() else {
            return Step::Idle;
        };
        let id = Rc::new(id);
        self.kept.outbox.answers(&id);
        if let Some(model) = &mut self.model {
            model
                .engine
                .set_kernels(kernel_set(self.kept.settings.kernels));
        }
        let begun = self.begin(op);
        self.settle(id, begun)
    }

    /// Keeps what is not over, and says what is.
    fn settle(&mut self, id: Rc<Id>, begun: Result<Begun<'m, M>, Error<'static>>) -> Step {
        match begun {
            Ok(Begun::Done(done)) => self.kept.outbox.event(Event::Done(*done)),
            Ok(Begun::Task(task)) => self.running.push((id, task)),
            Ok(Begun::Step(step)) => return step,
            Err(error) => self.kept.outbox.event(Event::Error(error)),
        }
        Step::Busy
    }

    fn go_on(
        &mut self,
        task: Task<'m, M>,
        id: &Id,
        hear: &mut dyn FnMut(&Id, &str, Progress),
    ) -> Result<Begun<'m, M>, Error<'static>> {
        let (done, task) = match task {
            Task::Load(opened) => {
                let ram = self.ram.take().unwrap_or_default();
                let settings = &self.kept.settings;
                let hear = &mut |file: &str, progress| hear(id, file, progress);
                let model = opened.load(self.machine, settings, ram, hear)?;
                self.kept.outbox.event(Event::Loaded(Box::new(Loaded {
                    model: model.facts.clone(),
                    timing: model.facts.load,
                })));
                self.model = Some(model);
                return Ok(Begun::Done(Box::default()));
            }
            Task::Generation(mut generation) => {
                let model = self.model.as_mut().ok_or_else(no_model)?;
                let done = generation.step(model, self.machine, &mut self.kept.outbox)?;
                (done, Task::Generation(generation))
            }
            Task::Experiment(mut experiment) => {
                let stepped = experiment.step(&mut self.lab());
                if stepped.is_err() {
                    // It has not come to its own end.
                    self.machine.mark(Phase::Other);
                    self.model
                        .iter_mut()
                        .for_each(|model| model.engine.truncate(0));
                }
                let done = stepped?.then(|| experiment.end(false, &mut self.lab()));
                (done, Task::Experiment(experiment))
            }
        };
        Ok(done.map_or(Begun::Task(task), |done| Begun::Done(Box::new(done))))
    }

    fn begin(&mut self, op: Op) -> Result<Begun<'m, M>, Error<'static>> {
        op.check()?;
        let machine = self.machine;
        let out = &mut self.kept.outbox;
        match op {
            Op::Info(_) => out.event(Event::Info(Box::new(Info {
                firmware: Cow::Borrowed("PiLM"),
                version: machine.facts().version.clone(),
                board: machine.facts().clone(),
                health: machine.health(),
                model: self.model.as_ref().map(|model| ModelFacts {
                    context_used: model.engine.pos(),
                    ..model.facts.clone()
                }),
                settings: self.kept.settings.clone(),
                limits: Limits::THIS,
            }))),
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
                self.kept.opened = Some(Box::new(load::open(machine, &load.name)?));
                return Ok(Begun::Step(Step::Reload));
            }
            Op::Reset(_) => {
                if let Some(model) = &mut self.model {
                    model.forget();
                }
            }
            Op::Abort(_) => {
                return Ok(Begun::Done(Box::new(Done {
                    aborted: Some(false),
                    ..Done::default()
                })));
            }
            Op::Set(set) => match self.kept.settings.set(&set.key, &set.value.word()) {
                Ok(setting) => {
                    out.event(Event::Settings(Changed::new(setting, &self.kept.settings)))
                }
                Err(error) => return Err(Error::new(ErrorCode::BadValue, error)),
            },
            Op::Reboot(_) => {
                out.event(Event::Done(Done::default()));
                return Ok(Begun::Step(Step::Reboot));
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
                            model.render(&question, &self.kept.settings)?,
                            Source::Messages,
                        )
                    }
                };
                return self.generate(prompt, source, &sampling, logits);
            }
            Op::Chat(chat, sampling, logits) => {
                let model = self.model.as_ref().ok_or_else(no_model)?;
                let prompt = model.render(&chat.messages, &self.kept.settings)?;
                return self.generate(prompt, Source::Messages, &sampling, logits);
            }
            Op::Ask(ask) => {
                let model = self.model.as_ref().ok_or_else(no_model)?;
                let prompt = model.ask(&ask.text, &self.kept.settings);
                let source = Source::Conversation;
                return self.generate(prompt, source, &Sampling::default(), Logits::default());
            }
            Op::Bench(bench) => {
                let plan = bench.plan(machine.facts().emulated);
                let kernels = self.kept.settings.kernels;
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
            Op::Selftest(_) => {
                self.model.iter_mut().for_each(ActiveModel::forget);
                return experiment(Selftest::default());
            }
        }
        Ok(Begun::Done(Box::default()))
    }

    fn generate(
        &mut self,
        prompt: Vec<TokenId>,
        source: Source,
        sampling: &Sampling,
        logits: Logits,
    ) -> Result<Begun<'m, M>, Error<'static>> {
        let settings = sampling.over(&self.kept.settings)?;
        let plan = Plan {
            prompt,
            source,
            seed: self.seed(&settings),
            ignore_eos: sampling.ignore_eos,
            logits,
            counts: sampling.counts,
        };
        let model = self.model.as_mut().ok_or_else(no_model)?;
        let generation = Generation::new(plan, &settings, model, self.machine)?;
        Ok(Begun::Task(Task::Generation(Box::new(generation))))
    }

    /// The seed of the next answer: the setting, or one that the clock gives.
    fn seed(&mut self, settings: &Settings) -> u64 {
        settings.seed.unwrap_or_else(|| {
            self.kept.draws += 1;
            // 2^64 divided by the golden ratio: neighbouring numbers give distant seeds. 53 bits remain, so
            // that every JSON reader can hand the seed back unchanged.
            let number = self.machine.entropy().wrapping_add(self.kept.draws);
            number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11
        })
    }

    /// Where an experiment is made.
    fn lab(&mut self) -> Lab<'_, 's, M> {
        Lab {
            machine: self.machine,
            subject: self.model.as_mut().map(|model| Subject {
                engine: &mut model.engine,
                facts: &model.facts,
            }),
            scratch: self.scratch,
            cores: self.kept.settings.cores,
            report: &mut self.kept.outbox,
        }
    }
}

fn experiment<'m, M: Machine>(
    experiment: impl Experiment<M> + 'static,
) -> Result<Begun<'m, M>, Error<'static>> {
    Ok(Begun::Task(Task::Experiment(Box::new(experiment))))
}

fn no_model() -> Error<'static> {
    Error::new(ErrorCode::NoModel, NO_MODEL)
}
