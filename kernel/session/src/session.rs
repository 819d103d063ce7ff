//! Requests in, steps, events out.

mod begin;
mod stop;

pub use begin::info;
pub use stop::dropped;

use crate::chat::ActiveModel;
use crate::event_queue::EventQueue;
use crate::generation::{Context, Generation};
use crate::load::Opened;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::rc::Rc;
use alloc::vec::Vec;
use lab::experiment::NO_MODEL;
use lab::kernels::kernel_set;
use lab::{Experiment, Lab, Machine, Report, Subject};
use ops::arena::Line;
use protocol::event::{Done, Error, ErrorCode, Event, Loaded, Phase, Progress};
use protocol::facts::{BoardFacts, ModelFacts};
use protocol::settings::{Asker, Layers, Section};
use protocol::{Id, Request, Settings};

/// A load that is under way.
pub struct Loading<'l> {
    /// The name of its request.
    pub id: &'l Id,
    /// The file.
    pub file: &'l str,
    /// How far it is, where it is time to say so.
    pub progress: Option<Progress>,
    /// All settings.
    pub settings: &'l Settings,
}
/// More pieces of a file than this slow its load down: a command of the card takes half a millisecond.
const MANY_PIECES: usize = 1000;

/// What outlives a model.
pub struct SessionState<'m, M: Machine> {
    /// All settings.
    pub settings: Settings,
    /// Where they come from.
    layers: Layers,
    waiting: VecDeque<(Asker, Request)>,
    events: EventQueue,
    /// Number of answers that were asked for without a seed.
    draws: u64,
    /// The model to load next.
    opened: Option<Box<Opened<'m, M>>>,
}

impl<M: Machine> SessionState<'_, M> {
    /// What there is at the start.
    pub fn new(settings: Settings, sections: Vec<Section>) -> Self {
        Self {
            layers: Layers::new(settings.clone(), sections),
            settings,
            waiting: VecDeque::new(),
            events: EventQueue::new(),
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
    /// A model is to be loaded: a new session takes the RAM, and [`Session::into_state`].
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
enum Outcome<'m, M: Machine> {
    /// It is over already.
    Done(Box<Done>),
    Task(Task<'m, M>),
    Step(Step),
}

/// One model, the requests that it answers, and the events that answer them.
pub struct Session<'s, 'm, M: Machine> {
    machine: &'m M,
    state: SessionState<'m, M>,
    /// Where a model goes; it has all of it.
    ram: Option<&'s mut [Line]>,
    /// Memory for measurements and for the selftest.
    scratch: &'s mut [Line],
    model: Option<ActiveModel<'s>>,
    /// What is under way.
    running: Option<(Rc<Id>, Task<'m, M>)>,
}

impl<'s, 'm, M: Machine> Session<'s, 'm, M> {
    /// A session that loads what the one before has opened, if it has.
    pub fn new(
        machine: &'m M,
        mut state: SessionState<'m, M>,
        ram: &'s mut [Line],
        scratch: &'s mut [Line],
    ) -> Self {
        let opened = state.opened.take();
        let id = state.events.id().clone();
        Self {
            machine,
            state,
            ram: Some(ram),
            scratch,
            model: None,
            running: opened.map(|opened| (id, Task::Load(opened))),
        }
    }

    /// What is left when the model goes.
    pub fn into_state(self) -> SessionState<'m, M> {
        self.state
    }

    /// All settings.
    pub fn settings(&self) -> &Settings {
        &self.state.settings
    }

    /// The board.
    pub fn board(&self) -> &'m BoardFacts {
        self.machine.facts()
    }

    /// The loaded model.
    pub fn model(&self) -> Option<&ModelFacts> {
        self.model.as_ref().map(|model| &model.facts)
    }

    /// Whether something is under way.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether something is under way that [`Session::stop`] can stop.
    pub fn can_stop(&self) -> bool {
        matches!(self.running, Some((_, ref task)) if !matches!(task, Task::Load(_)))
    }

    /// Whether the console's conversation has outcome.
    pub fn has_conversation(&self) -> bool {
        self.model
            .as_ref()
            .is_some_and(|model| !model.conversation.is_empty())
    }

    /// Takes a request; those before it are answered first.
    pub fn submit(&mut self, request: Request) {
        self.submit_for(Asker::Program, request);
    }

    /// Takes a request whose answer is for `asker`.
    pub fn submit_for(&mut self, asker: Asker, request: Request) {
        self.state.waiting.push_back((asker, request));
    }

    /// The next event, and the name of its request.
    pub fn take(&mut self) -> Option<(&Id, Event<'_>)> {
        self.state.events.take()
    }

    /// Does the next piece of work. A load is one piece, and calls `meanwhile` after each chunk of the file.
    pub fn step(&mut self, meanwhile: &mut dyn FnMut(&Loading<'_>)) -> Step {
        if let Some((id, task)) = self.running.take() {
            self.state.events.answers(&id);
            let outcome = self.advance(task, &id, meanwhile);
            return self.conclude(id, outcome);
        }
        let Some((asker, Request { id, op })) = self.state.waiting.pop_front() else {
            return Step::Idle;
        };
        let id = Rc::new(id);
        self.state.events.answers(&id);
        if let Some(model) = &mut self.model {
            model
                .engine
                .set_kernels(kernel_set(self.state.settings.kernels));
        }
        let outcome = self.begin(op, asker);
        self.conclude(id, outcome)
    }

    /// Keeps what is not over, and says what is.
    fn conclude(&mut self, id: Rc<Id>, outcome: Result<Outcome<'m, M>, Error<'static>>) -> Step {
        match outcome {
            Ok(Outcome::Done(done)) => self.state.events.event(Event::Done(*done)),
            Ok(Outcome::Task(task)) => self.running = Some((id, task)),
            Ok(Outcome::Step(step)) => return step,
            Err(error) => self.state.events.event(Event::Error(error)),
        }
        Step::Busy
    }

    fn advance(
        &mut self,
        task: Task<'m, M>,
        id: &Id,
        meanwhile: &mut dyn FnMut(&Loading<'_>),
    ) -> Result<Outcome<'m, M>, Error<'static>> {
        let (done, task) = match task {
            Task::Load(opened) => {
                let ram = self.ram.take().unwrap_or_default();
                self.state.settings = self.state.layers.for_model(opened.name());
                let settings = &self.state.settings;
                let meanwhile = &mut |file: &str, progress| {
                    meanwhile(&Loading {
                        id,
                        file,
                        progress,
                        settings,
                    });
                };
                let model = opened.load(self.machine, settings, ram, meanwhile)?;
                self.state.events.event(Event::Loaded(Box::new(Loaded {
                    model: model.facts.clone(),
                    timing: model.facts.load,
                })));
                if let Some(n) = model.facts.load_pieces.filter(|&n| n > MANY_PIECES) {
                    let file = &model.facts.file;
                    self.state.events.event(Event::Notice(format!(
                        "{file} lies on the card in {n} pieces, which slows its load down: copy it again"
                    )));
                }
                let (used, wanted) = (model.facts.context_len, settings.context);
                if let Some(wanted) = wanted.filter(|&wanted| wanted > used) {
                    self.state.events.event(Event::Notice(format!(
                        "the context is {used} tokens and not {wanted}: the model was trained for no more"
                    )));
                }
                self.model = Some(model);
                return Ok(Outcome::Done(Box::default()));
            }
            Task::Generation(mut generation) => {
                let done = generation.step(&mut self.context()?)?;
                (done, Task::Generation(generation))
            }
            Task::Experiment(mut experiment) => {
                let stepped = experiment.step(&mut self.lab());
                if stepped.is_err() {
                    // It has not come to its own end.
                    self.machine.mark(Phase::Other);
                    self.machine.hold_output(false);
                    self.model
                        .iter_mut()
                        .for_each(|model| model.engine.truncate(0));
                }
                let done = stepped?.then(|| experiment.end(false, &mut self.lab()));
                (done, Task::Experiment(experiment))
            }
        };
        Ok(done.map_or(Outcome::Task(task), |done| Outcome::Done(Box::new(done))))
    }

    /// What a generation works with.
    fn context(&mut self) -> Result<Context<'_, 's, M>, Error<'static>> {
        Ok(Context {
            model: self.model.as_mut().ok_or_else(no_model)?,
            machine: self.machine,
            events: &mut self.state.events,
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
            cores: self.state.settings.cores,
            report: &mut self.state.events,
        }
    }
}

fn no_model() -> Error<'static> {
    Error::new(ErrorCode::NoModel, NO_MODEL)
}
