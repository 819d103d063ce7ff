//! What all experiments have in common.

use crate::machine::Machine;
use llm::engine::{Engine, EngineError};
use ops::arena::Line;
use protocol::event::{Done, Error, ErrorCode, Event};
use protocol::facts::ModelFacts;

/// A loaded model, as experiments see it.
pub struct Subject<'s, 'e> {
    /// What decodes.
    pub engine: &'s mut Engine<'e>,
    /// What it is.
    pub facts: &'s ModelFacts,
}

/// Takes what is found.
pub trait Report {
    /// Takes one event.
    fn event(&mut self, event: Event<'static>);
}

/// Where an experiment is made: everything that one step may use.
pub struct Lab<'s, 'e, M> {
    /// The machine.
    pub machine: &'s M,
    /// The loaded model.
    pub subject: Option<Subject<'s, 'e>>,
    /// Memory for buffers and products.
    pub scratch: &'s mut [Line],
    /// Cores that work where the experiment does not choose.
    pub cores: Option<usize>,
    /// Takes what is found.
    pub report: &'s mut dyn Report,
}

impl<'s, 'e, M: Machine> Lab<'s, 'e, M> {
    /// The model.
    ///
    /// # Errors
    /// [`ErrorCode::NoModel`].
    pub fn subject(&mut self) -> Result<&mut Subject<'s, 'e>, Error<'static>> {
        self.subject
            .as_mut()
            .ok_or_else(|| Error::new(ErrorCode::NoModel, NO_MODEL))
    }
}

/// What stands in the way without a model.
pub const NO_MODEL: &str = "no model is loaded: see the ops models and load";

/// A measurement under way.
pub trait Experiment<M: Machine> {
    /// Makes the next step: one sample, one pass, one check. Whether there was none left.
    ///
    /// # Errors
    /// What stands in the way; the experiment is over.
    fn step(&mut self, lab: &mut Lab<'_, '_, M>) -> Result<bool, Error<'static>>;

    /// Reports what came of it: after its last step, or before when it is `stopped`.
    fn end(&mut self, stopped: bool, lab: &mut Lab<'_, '_, M>) -> Done;
}

/// A decoder that failed, as an event.
pub fn model_failed(error: EngineError) -> Error<'static> {
    Error::new(ErrorCode::ModelFailed, error)
}
