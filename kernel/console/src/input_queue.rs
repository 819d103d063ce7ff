//! What has been typed: lines when the session asks for them, and a stop while it is busy.
//!
//! While a generation runs, bytes that arrive are kept unread and unechoed, so that typing ahead works and
//! does not mix with the answer. Two things act at once: Ctrl-C, which also drops what was typed before it,
//! and a JSON line with the op `abort`.

use crate::board::Serial;
use crate::line_editor::{Input, LineEditor, MAX_JSON_BYTES};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use ops::crc32c;
use protocol::crc_line::LineCheck;
use protocol::{Id, Op, Request};

/// The most bytes that are kept while the session is busy.
const MAX_AHEAD_BYTES: usize = 2 * MAX_JSON_BYTES;

/// Bytes from the serial line, on their way to lines.
pub struct InputQueue<'s> {
    serial: &'s dyn Serial,
    /// The line in the making.
    pub editor: LineEditor,
    /// Which lines are taken.
    pub lines: LineCheck,
    echo: Vec<u8>,
    /// Bytes that arrived while the session was busy.
    ahead: VecDeque<u8>,
    /// Where the unfinished line in `ahead` starts.
    line_start: usize,
    /// The CR of a line that is gone was the last byte: its LF goes too.
    skip_lf: bool,
    /// Bytes that did not fit.
    lost: usize,
    busy: Option<Id>,
    /// Whether what runs has to end.
    stop: bool,
    prompted: bool,
}

impl<'s> InputQueue<'s> {
    /// An input on `serial`.
    pub fn new(serial: &'s dyn Serial, prompt: &str, columns: usize) -> Self {
        Self {
            serial,
            editor: LineEditor::new(prompt, columns),
            lines: LineCheck::new(crc32c::extend),
            echo: Vec::new(),
            ahead: VecDeque::new(),
            line_start: 0,
            skip_lf: false,
            lost: 0,
            busy: None,
            stop: false,
            prompted: false,
        }
    }

    /// The next line; shows the prompt and the typing. `None` when the serial line has ended.
    pub fn next_input(&mut self) -> Option<Input> {
        if !self.prompted {
            self.editor.start(&mut self.echo);
            self.prompted = true;
        }
        let input = loop {
            if let Some(byte) = self.ahead.pop_front().or_else(|| self.serial.read()) {
                match self.editor.push(byte, &mut self.echo) {
                    Some(input) => break input,
                    None => continue,
                }
            }
            self.editor.refresh(&mut self.echo);
            self.send_echo();
            if self.serial.is_closed() {
                break self.editor.finish(&mut self.echo)?;
            }
            self.serial.wait();
        };
        // A program's line has no echo, so the cursor stands behind the prompt: events start on a row of
        // their own.
        if matches!(
            input,
            Input::Json(_) | Input::Overlong { json: Some(_), .. }
        ) {
            self.echo.extend_from_slice(b"\r\n");
        }
        self.send_echo();
        self.prompted = false;
        Some(input)
    }

    /// How many bytes were lost since the last call because the session was busy for too long.
    pub fn take_lost(&mut self) -> usize {
        core::mem::take(&mut self.lost)
    }

    /// Begins a time in which [`Self::poll`] is asked for a stop, for the request `id`.
    pub fn begin(&mut self, id: Id) {
        self.busy = Some(id);
        self.stop = false;
        self.serial.take_interrupt();
        self.rescan();
    }

    /// Ends it.
    pub fn end(&mut self) {
        self.busy = None;
    }

    /// Reads what has arrived; whether the work has to stop.
    pub fn poll(&mut self) -> bool {
        while let Some(byte) = self.serial.read() {
            self.keep(byte);
        }
        if self.serial.take_interrupt() && !self.stop {
            self.keep(0x03);
        }
        self.stop
    }

    fn send_echo(&mut self) {
        self.serial.write(&self.echo);
        self.echo.clear();
    }

    /// Looks for an `abort` among the lines that arrived before the work began.
    fn rescan(&mut self) {
        let bytes = core::mem::take(&mut self.ahead);
        self.line_start = 0;
        bytes.into_iter().for_each(|byte| self.keep(byte));
    }

    fn keep(&mut self, byte: u8) {
        if core::mem::take(&mut self.skip_lf) && byte == b'\n' {
            return;
        }
        match byte {
            0x03 => {
                self.ahead.clear();
                self.line_start = 0;
                self.stop = true;
                return;
            }
            _ if self.ahead.len() >= MAX_AHEAD_BYTES => {
                self.lost += 1;
                return;
            }
            _ => self.ahead.push_back(byte),
        }
        if byte != b'\r' && byte != b'\n' {
            return;
        }
        let is_request = self.ahead.get(self.line_start) == Some(&b'{');
        if is_request && self.is_abort() {
            self.ahead.truncate(self.line_start);
            self.skip_lf = byte == b'\r';
            self.stop = true;
        }
        self.line_start = self.ahead.len();
    }

    /// Whether the line that has just ended aborts the request that runs.
    fn is_abort(&mut self) -> bool {
        let line: Vec<u8> = self
            .ahead
            .range(self.line_start..self.ahead.len() - 1)
            .copied()
            .collect();
        // A damaged one waits for its turn, and is answered then.
        let Ok(checked) = self.lines.check(&line) else {
            return false;
        };
        match (Request::parse(checked.text), &self.busy) {
            (
                Ok(Request {
                    id,
                    op: Op::Abort(_),
                }),
                Some(busy),
            ) => id == Id::None || id == *busy,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Input, InputQueue, MAX_AHEAD_BYTES};
    use crate::board::Serial;
    use protocol::Id;
    use std::cell::RefCell;
    use std::collections::VecDeque;

    #[derive(Default)]
    struct Wire {
        typed: RefCell<VecDeque<u8>>,
        shown: RefCell<Vec<u8>>,
    }

    impl Wire {
        fn type_in(&self, bytes: &[u8]) {
            self.typed.borrow_mut().extend(bytes);
        }
        fn shown(&self) -> String {
            String::from_utf8(self.shown.take()).expect("text")
        }
    }

    impl Serial for Wire {
        fn read(&self) -> Option<u8> {
            self.typed.borrow_mut().pop_front()
        }
        fn write(&self, bytes: &[u8]) {
            self.shown.borrow_mut().extend_from_slice(bytes);
        }
        fn wait(&self) {}
        fn is_closed(&self) -> bool {
            true
        }
    }

    fn line(text: &str) -> Option<Input> {
        Some(Input::Line(text.to_owned()))
    }

    #[test]
    fn typing_ahead_is_kept_and_shown_when_it_is_its_turn() {
        let wire = Wire::default();
        let mut input = InputQueue::new(&wire, "> ", 80);
        input.begin(Id::None);
        wire.type_in(b"next question\rand");
        assert!(!input.poll());
        input.end();
        assert_eq!(wire.shown(), "");
        assert_eq!(input.next_input(), line("next question"));
        assert_eq!(wire.shown(), "> next question\r\n");
    }

    #[test]
    fn the_last_line_needs_no_line_end() {
        let last = |bytes: &[u8]| {
            let wire = Wire::default();
            wire.type_in(bytes);
            let mut input = InputQueue::new(&wire, "> ", 80);
            let last = input.next_input();
            assert_eq!(input.next_input(), None);
            last
        };
        assert_eq!(last(b""), None);
        assert_eq!(last(b"and"), line("and"));
        assert_eq!(last(b"{\"op\""), Some(Input::Json(b"{\"op\"".into())));
        assert_eq!(last(b"\x1b[200~pasted"), line("pasted\n"));
        assert_eq!(
            last(b"a\xE9"),
            Some(Input::InvalidUtf8 {
                count: 1,
                first: 0xE9
            })
        );
    }

    #[test]
    fn control_c_stops_and_drops_what_was_typed_before() {
        let wire = Wire::default();
        let mut input = InputQueue::new(&wire, "> ", 80);
        input.begin(Id::None);
        wire.type_in(b"dropped\r\x03kept\r");
        assert!(input.poll());
        input.end();
        assert_eq!(input.next_input(), line("kept"));
    }

    #[test]
    fn an_abort_stops_its_own_request_only() {
        for (line, stops) in [
            (r#"{"op":"abort","id":7}"#, true),
            (r#"{"op":"abort"}"#, true),
            (r#"{"op":"abort","id":8}"#, false),
            (r#"{"op":"info","id":7}"#, false),
            (r#"{"op":"abort","id":7"#, false),
        ] {
            let wire = Wire::default();
            let mut input = InputQueue::new(&wire, "> ", 80);
            input.begin(Id::Number(7));
            wire.type_in(b"text\r\n");
            wire.type_in(line.as_bytes());
            assert!(!input.poll(), "the line is not finished");
            wire.type_in(b"\r\n");
            assert_eq!(input.poll(), stops, "{line}");
            input.end();
            assert_eq!(input.next_input(), Some(Input::Line("text".into())));
            assert_eq!(
                input.next_input().is_some(),
                !stops,
                "an abort that acted is not a request any more"
            );
        }
    }

    #[test]
    fn an_abort_sent_right_behind_its_request_is_seen() {
        let wire = Wire::default();
        let mut input = InputQueue::new(&wire, "> ", 80);
        input.begin(Id::None);
        wire.type_in(b"{\"op\":\"reset\",\"id\":1}\n{\"op\":\"abort\",\"id\":1}\n");
        assert!(!input.poll());
        input.end();
        assert!(matches!(input.next_input(), Some(Input::Json(_))));
        input.begin(Id::Number(1));
        assert!(input.poll());
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let wire = Wire::default();
        let mut input = InputQueue::new(&wire, "> ", 80);
        input.begin(Id::None);
        wire.type_in(&vec![b'x'; MAX_AHEAD_BYTES + 5]);
        assert!(!input.poll());
        assert_eq!(input.take_lost(), 5);
        assert_eq!(input.take_lost(), 0);
    }
}
