//! A conversation with the firmware in JSON lines, over QEMU's UART.

use anyhow::{Context, Result, bail};
use qemu::{Machine, Qemu};
use serde_json::{Value, json};
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
    next_id: u64,
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

    /// Sends a request (an object with `op`) and gives every event of its answer to `on_event`; the `done` event.
    ///
    /// # Errors
    /// The answer is an error event, or does not come.
    ///
    /// # Panics
    /// The request is no object.
    pub fn ask_with(
        &mut self,
        mut request: Value,
        on_event: &mut dyn FnMut(&Value) -> Result<()>,
    ) -> Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        request["id"] = json!(id);
        self.qemu.send_line(&request.to_string())?;
        loop {
            let line = self.qemu.line(EVENT)?;
            let Some(event) = event_of(&line, id) else {
                continue;
            };
            on_event(&event)?;
            match event["event"].as_str() {
                Some("error") => bail!("{}", event["message"].as_str().unwrap_or(&line)),
                Some("done") => return Ok(event),
                Some(_) => {}
                None => bail!("an event without a name: {line}"),
            }
        }
    }

    /// Sends a request; the `done` event of its answer.
    ///
    /// # Errors
    /// The answer is an error event, or does not come.
    pub fn ask(&mut self, request: Value) -> Result<Value> {
        self.ask_with(request, &mut |_| Ok(()))
    }

    /// Asks for a completion of `fields["prompt"]` or `fields["ids"]`; the text of the answer, and its `done` event.
    ///
    /// # Errors
    /// The answer is an error event, or does not come.
    pub fn complete(&mut self, mut fields: Value) -> Result<(String, Value)> {
        let mut text = String::new();
        fields["op"] = json!("complete");
        let done = self.ask_with(fields, &mut |event| {
            text.push_str(token_text(event));
            Ok(())
        })?;
        Ok((text, done))
    }
}

/// The text that an event adds to the answer: of a token, or held back until the end.
pub fn token_text(event: &Value) -> &str {
    match event["event"].as_str() {
        Some("token" | "text") => event["text"].as_str().unwrap_or_default(),
        _ => "",
    }
}

/// The line as an event of request `id`; everything else on the UART is for people.
fn event_of(line: &str, id: u64) -> Option<Value> {
    // a prompt may stand before it
    let event: Value = serde_json::from_str(&line[line.find('{')?..]).ok()?;
    (event["id"].as_u64() == Some(id)).then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_events_of_the_request_count() {
        let line = r#"> {"id":7,"event":"token","text":"Hi"}"#;
        assert_eq!(token_text(&event_of(line, 7).unwrap()), "Hi");
        assert_eq!(event_of(line, 8), None);
        assert_eq!(event_of("Loading {1 of 2}", 7), None);
        assert_eq!(event_of("", 7), None);
    }
}
