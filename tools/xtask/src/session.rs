//! A conversation with the firmware in JSON lines, over QEMU's UART.

use anyhow::{Context, Result};
use protocol::event::{Done, Line};
use protocol::{Event, Id, Op, Request};
use qemu::{Machine, Qemu};
use std::time::Duration;

/// What the firmware says when it waits for a line.
pub const PROMPT: &str = "\n> ";

/// From reset to the prompt, with the default model to load, on a slow host.
const BOOT: Duration = Duration::from_secs(300);
/// Between two events of an answer. A long prompt is one step, half an hour of it where QEMU counts instructions.
const EVENT: Duration = Duration::from_secs(3600);

/// A booted firmware that takes requests.
#[derive(Debug)]
pub struct Session {
    qemu: Qemu,
    next_id: i64,
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
        Ok(Session {
            qemu,
            next_id: 1,
            boot_text,
        })
    }

    /// What the firmware said up to its first prompt.
    pub fn boot_text(&self) -> &str {
        &self.boot_text
    }

    /// The machine underneath.
    pub fn qemu(&mut self) -> &mut Qemu {
        &mut self.qemu
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
        let id = Id::Number(self.next_id);
        self.next_id += 1;
        let request = Request { id, op };
        self.qemu.send_line(&serde_json::to_string(&request)?)?;
        loop {
            let line = self.event()?;
            match line.event {
                _ if line.id != request.id => {}
                Event::Done(done) => return Ok(done),
                Event::Error(error) => return Err(error.into()),
                event => on_event(event)?,
            }
        }
    }

    /// The next event of any request.
    ///
    /// # Errors
    /// None comes, or one that [`Event`] does not know.
    pub fn event(&mut self) -> Result<Line<'static>> {
        loop {
            if let Some(event) = event_of(&self.qemu.line(EVENT)?)? {
                return Ok(event);
            }
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

/// The line as an event; everything else on the UART is for people.
fn event_of(line: &str) -> Result<Option<Line<'static>>> {
    // a prompt may stand before it
    let parse = |at: usize| serde_json::from_str(&line[at..]);
    let event = line.find(r#"{"id":"#).map(parse).transpose();
    event.with_context(|| format!("an unknown event: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_events_count_and_all_of_them() {
        let line = r#"> {"id":7,"event":"token","token":5,"text":"Hi"}"#;
        let Line { id, event, .. } = event_of(line).unwrap().unwrap();
        assert_eq!((id, token_text(&event)), (Id::Number(7), "Hi"));
        assert_eq!(event_of("Loading {1 of 2}").unwrap(), None);
        assert_eq!(event_of("").unwrap(), None);
        for line in [
            r#"{"id":7,"event":"dance"}"#,
            r#"{"id":7,"event":"token","text":"Hi"}"#,
            r#"{"id":7,"event":"done""#,
        ] {
            assert!(event_of(line).unwrap_err().to_string().contains(line));
        }
    }
}
