//! Asking over a link.

use crate::answer::{Answer, Step};
use crate::client::{Link, MAX_QUIET};
use crate::error::Error;
use crate::repeat;
use crate::transport::Transport;
use protocol::event::Done;
use protocol::{Event, Op};

impl<T: Transport> Link<T> {
    /// Asks; the answer is taken event by event.
    ///
    /// # Errors
    /// The firmware does not answer.
    pub fn ask(&mut self, op: Op) -> Result<Answer<'_, T>, Error> {
        let op = match self.options().crc {
            true => repeat::with_seed(op),
            false => op,
        };
        self.prepare(&op)?;
        Answer::begin(self, op)
    }

    /// Asks, and gives each event to `on_event`; how it ended.
    ///
    /// # Errors
    /// The answer is an error, or does not come.
    pub fn ask_with(
        &mut self,
        op: Op,
        on_event: &mut dyn FnMut(Event<'static>),
    ) -> Result<Done, Error> {
        let mut answer = self.ask(op)?;
        loop {
            match answer.next(MAX_QUIET)? {
                Step::Event(event) => on_event(event),
                Step::Waiting => {}
                Step::Done(done) => return Ok(done),
            }
        }
    }
}
