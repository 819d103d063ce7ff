//! Which lines are requests, and which are refused for their checksum.

use super::Console;
use crate::board::Board;
use crate::command::{self, Action};
use crate::line_editor::Input;
use crate::person::Client;
use protocol::crc_line::{BadCrc, Checked};
use protocol::event::{Error, ErrorCode};
use protocol::request::Rejected;
use protocol::{Id, Op, Request};
use session::Session;

impl<'b, B: Board> Console<'b, B> {
    /// Submits what a program asks, or says why not.
    pub(super) fn take_request(&mut self, line: &[u8], session: &mut Session<'_, 'b, B>) {
        let (text, has_crc) = match self.input.lines.take(line) {
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
pub(super) fn needs_crc(input: &Input) -> bool {
    match input {
        Input::Line(line) => !matches!(
            command::parse(line),
            Ok(command::Line::Blank | command::Line::Command(Action::Ask(Op::Reset(_))))
        ),
        Input::InvalidUtf8 { .. } | Input::Overlong { json: None, .. } => true,
        Input::Json(_) | Input::Overlong { .. } | Input::EndOfInput | Input::Interrupt => false,
    }
}
