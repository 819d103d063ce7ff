//! A conversation with the firmware in JSON lines, over QEMU's UART.

use anyhow::{Context, Error, Result, anyhow};
use link::{Link, Options, Step};
use protocol::event::{Done, Line};
use protocol::{Event, Op};
use qemu::{Machine, Qemu};
use std::time::Duration;

pub use link::terminal::PROMPT;

/// From reset to the prompt, with the default model to load, on a slow host.
const BOOT: Duration = Duration::from_secs(300);
/// Between two events of an answer. A long prompt is one step, half an hour of it where QEMU counts instructions.
const EVENT: Duration = Duration::from_secs(3600);

/// A booted firmware that takes requests.
#[derive(Debug)]
pub struct Session {
    link: Link<Qemu>,
    boot_text: String,
}

impl Session {
    /// Boots `machine` and waits for its prompt.
    ///
    /// # Errors
    /// QEMU cannot be started, or the prompt does not come.
    pub fn boot(machine: &Machine) -> Result<Session> {
        Session::wait_for_prompt(machine.boot()?)
    }

    /// Takes over a QEMU that is booting.
    ///
    /// # Errors
    /// The prompt does not come.
    pub fn wait_for_prompt(mut qemu: Qemu) -> Result<Session> {
        let boot_text = qemu
            .expect(PROMPT, BOOT)
            .context("the firmware has not reached its prompt")?;
        // pipes lose nothing: without checksums, and without looks whether the other end is alive
        let options = Options {
            crc: false,
            quiet: EVENT,
            patience: EVENT,
            ..Options::default()
        };
        let link = Link::new(qemu, options);
        Ok(Session { link, boot_text })
    }

    /// Whether requests, and so their answers, have checksums. After one that had, only a reset may have none.
    pub fn use_checksums(&mut self, crc: bool) {
        self.link.use_checksums(crc);
    }

    /// What the firmware said up to its first prompt.
    pub fn boot_text(&self) -> &str {
        &self.boot_text
    }

    /// The machine underneath.
    pub fn qemu(&mut self) -> &mut Qemu {
        self.link.transport()
    }
    /// Sends a request and gives the events of its answer to `on_event`; how it ended.
    ///
    /// # Errors
    /// The answer is an [error event](protocol::event::Error), or does not come.
    pub fn ask_with(
        &mut self,
        op: Op,
        on_event: &mut dyn FnMut(Event<'static>) -> Result<()>,
    ) -> Result<Done> {
        match self.answer(op, on_event) {
            // why is what a caller wants to know, and not over what it came
            Err(error) => match error.downcast() {
                Ok(link::Error::Refused(error)) => Err(error.into()),
                Ok(error) => Err(self.with_transcript(error)),
                Err(error) => Err(error),
            },
            done => done,
        }
    }

    fn answer(
        &mut self,
        op: Op,
        on_event: &mut dyn FnMut(Event<'static>) -> Result<()>,
    ) -> Result<Done> {
        let mut answer = self.link.ask(op)?;
        loop {
            match answer.next(EVENT)? {
                Step::Event(event) => on_event(event)?,
                Step::Waiting => {}
                Step::Done(done) => return Ok(done),
            }
        }
    }

    /// The next event of any request.
    ///
    /// # Errors
    /// None comes, or one that [`Event`] does not know.
    pub fn event(&mut self) -> Result<Line<'static>> {
        let event = self.link.event();
        event.map_err(|error| self.with_transcript(error))
    }

    fn with_transcript(&mut self, error: link::Error) -> Error {
        match error {
            link::Error::Silent { .. } => {
                let transcript = self.qemu().transcript();
                anyhow!("{error}; all that was said:\n{transcript}")
            }
            error => error.into(),
        }
    }

    /// Sends a request; how its answer ended.
    ///
    /// # Errors
    /// As [`Session::ask_with`].
    pub fn ask(&mut self, op: Op) -> Result<Done> {
        self.ask_with(op, &mut |_| Ok(()))
    }
}

/// The text that an event adds to the answer: of a token, or held back until the end.
pub fn token_text<'e>(event: &'e Event<'_>) -> &'e str {
    match event {
        Event::Token(token) => &token.text,
        Event::Text(text) => &text.text,
        _ => "",
    }
}
