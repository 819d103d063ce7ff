//! The end of requests before their own.

use super::{Session, Task};
use alloc::rc::Rc;
use lab::{Machine, Report};
use protocol::Request;
use protocol::event::{Done, Error, ErrorCode, Event};

impl<M: Machine> Session<'_, '_, M> {
    /// Stops what is under way, if it can be stopped; whether it could.
    pub fn stop(&mut self) -> bool {
        if !self.can_stop() {
            return false;
        }
        let Some((id, task)) = self.running.take() else {
            return false;
        };
        self.state.events.answers(&id);
        let done = match task {
            Task::Generation(mut generation) => match self.context() {
                Ok(mut context) => generation.stop(&mut context),
                Err(_) => Done::measured(true),
            },
            Task::Experiment(mut experiment) => experiment.end(true, &mut self.lab()),
            Task::Load(_) => Done::measured(true),
        };
        self.state.events.event(Event::Done(done));
        true
    }

    /// Drops the requests that have not begun.
    pub fn drop_waiting(&mut self) {
        while let Some((_, Request { id, .. })) = self.state.waiting.pop_front() {
            self.state.events.answers(&Rc::new(id));
            self.state.events.event(Event::Error(dropped()));
        }
    }
}

/// That a request never began.
pub fn dropped() -> Error<'static> {
    Error::new(
        ErrorCode::Dropped,
        "stopped before its turn; send it again if it is still wanted",
    )
}
