//! Lines to requests: what a person's mean, and which are refused, for their checksum too.

use super::Console;
use crate::board::Board;
use crate::command::{self, Action};
use crate::line_editor::Input;
use crate::person::Client;
use crate::screen::{counted, say};
use alloc::string::String;
use protocol::crc_line::{BadCrc, Checked};
use protocol::event::{Error, ErrorCode, Event};
use protocol::request::{Ask, Rejected};
use protocol::{Id, Op, Request};
use session::Session;

impl<'b, B: Board> Console<'b, B> {
    /// Turns a line into a request, or answers it.
    pub(super) fn take_input(&mut self, input: Input, session: &mut Session<'_, 'b, B>) {
        if self.input.lines().is_required() && needs_crc(&input) {
            return self.refuse_line(BadCrc::Missing);
        }
        match input {
            Input::Json(line) => self.take_request(&line, session),
            Input::Line(line) => match command::parse(&line) {
                Ok(command::Line::Blank) => {}
                Ok(command::Line::Text(text)) => {
                    let text = match session.model() {
                        // The list at the start is a menu: a number picks.
                        None if text.trim().parse::<usize>().is_ok() => command::load(text.trim()),
                        _ => Op::Ask(Ask {
                            text: String::from(text),
                        }),
                    };
                    self.ask(text, session);
                }
                Ok(command::Line::Command(Action::Ask(op))) => self.ask(op, session),
                Ok(command::Line::Command(action)) => {
                    self.person
                        .show(&action, session.settings(), session.model())
                }
                Err(error) => say!(self.screen, "{error}"),
            },
            Input::Overlong {
                json: Some(start),
                limit,
                dropped,
            } => {
                let id = Request::parse(&start)
                    .map_or_else(|rejected| rejected.id, |request| request.id);
                let message = format_args!(
                    "the line has {} more than the {limit} that a request may have",
                    counted(dropped, "byte")
                );
                self.answers.begin(self.input.lines().is_required());
                self.refuse(&id, Error::new(ErrorCode::Overlong, message));
            }
            Input::Overlong {
                json: None,
                limit,
                dropped,
            } => say!(
                self.screen,
                "the line has {} more than the {limit} that it may have; nothing was sent. The up key gives its \
                 beginning back",
                counted(dropped, "byte")
            ),
            Input::InvalidUtf8 { count, first } => say!(
                self.screen,
                "not UTF-8: {} (the first is 0x{first:02X}); nothing was sent. Set the terminal to UTF-8; the up key \
                 gives the line back",
                counted(count, "byte")
            ),
            Input::EndOfInput => self
                .screen
                .line("\n/reboot restarts the board; to leave, close the terminal program"),
            Input::Interrupt => self.is_ready_due = true,
        }
    }

    fn submit(&mut self, request: Request, session: &mut Session<'_, 'b, B>) {
        if let Op::Reset(_) = request.op {
            self.input.lines().reset();
        }
        session.submit_for(self.client.asker(), request);
    }

    /// Submits what a person asks.
    fn ask(&mut self, op: Op, session: &mut Session<'_, 'b, B>) {
        if let Err(error) = op.check() {
            return say!(self.screen, "{error}");
        }
        self.person.begin(&op, session.settings(), session.model());
        self.client = Client::Person(op.name());
        self.submit(Request::unnamed(op), session);
    }

    fn refuse(&mut self, id: &Id, error: Error<'_>) {
        self.answers.event(id, &Event::Error(error));
    }

    /// Submits what a program asks, or says why not.
    pub(super) fn take_request(&mut self, line: &[u8], session: &mut Session<'_, 'b, B>) {
        let (text, has_crc) = match self.input.lines().take(line) {
            Ok(Checked { text, has_crc }) => (text, has_crc),
            // The way back for a program without checksums.
            Err(BadCrc::Missing) if is_reset(line) => (line, false),
            Err(error) => return self.refuse_line(error),
        };
        self.answers.begin(has_crc);
        match Request::parse(text) {
            Ok(request) => {
                self.client = Client::Program(request.id.clone());
                self.submit(request, session);
            }
            Err(Rejected { id, error }) => self.refuse(&id, error.into()),
        }
    }

    /// Refuses a line for its checksum; nothing in it can be trusted, its id neither.
    pub(super) fn refuse_line(&mut self, error: BadCrc) {
        self.answers.begin(true);
        self.refuse(&Id::None, Error::new(ErrorCode::BadCrc, error));
    }
}

/// Whether a program's line asks for a reset.
fn is_reset(line: &[u8]) -> bool {
    Request::parse(line).is_ok_and(|request| matches!(request.op, Op::Reset(_)))
}

/// Whether this is a line of a person, where each line has a checksum: one of a program whose first byte was damaged.
/// `/reset` gives the line back to people.
fn needs_crc(input: &Input) -> bool {
    match input {
        Input::Line(line) => !matches!(
            command::parse(line),
            Ok(command::Line::Blank | command::Line::Command(Action::Ask(Op::Reset(_))))
        ),
        Input::InvalidUtf8 { .. } | Input::Overlong { json: None, .. } => true,
        Input::Json(_) | Input::Overlong { .. } | Input::EndOfInput | Input::Interrupt => false,
    }
}
