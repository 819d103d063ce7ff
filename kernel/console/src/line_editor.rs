//! A line editor without input and output: bytes in, echo bytes out.
//!
//! It serves a person and a program on the same wire. A line that starts with `{` is a program's: it is
//! taken as it is, without echo. Anything else is edited with the keys of readline and shown in one
//! screen row (`display`). Nothing is lost silently: a line that is too long or not UTF-8 comes back
//! as such.

mod buffer;
mod display;
mod keys;

use crate::history::History;
use alloc::string::String;
use alloc::vec::Vec;
use buffer::Buffer;
use display::Display;
use keys::{Key, KeyDecoder};
use protocol::event::Limits;

/// The most bytes of a line that a person types.
pub const MAX_LINE_BYTES: usize = Limits::THIS.line_bytes;
/// The most bytes of a program's line (a JSON request).
pub const MAX_JSON_BYTES: usize = Limits::THIS.request_bytes;

/// What a line turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// A line of a person, without its line end.
    Line(String),
    /// A line that starts with `{`, as its bytes.
    Json(Vec<u8>),
    /// Ctrl-C; what was typed of the line is dropped.
    Interrupt,
    /// Ctrl-D on an empty line.
    EndOfInput,
    /// More was typed than a line takes; a person's line can be had back with the up key.
    Overlong {
        /// The beginning of a program's line.
        json: Option<Vec<u8>>,
        /// The limit in bytes.
        limit: usize,
        /// How many bytes came after it.
        dropped: usize,
    },
    /// Bytes that are not UTF-8 are in the line; it can be had back with the up key.
    InvalidUtf8 {
        /// How many such bytes were typed.
        count: usize,
        /// The first of them.
        first: u8,
    },
}

/// The line in the making, its history, and what the terminal shows of it.
#[derive(Debug)]
pub struct LineEditor {
    /// A program's line in the making.
    json: Option<Vec<u8>>,
    keys: KeyDecoder,
    buffer: Buffer,
    display: Display,
    history: History,
    killed: String,
    prompt: String,
    dropped: usize,
    invalid: Option<(usize, u8)>,
}

impl LineEditor {
    /// An editor for a terminal of `columns` columns that shows `prompt` (one column per byte).
    pub fn new(prompt: &str, columns: usize) -> Self {
        let mut editor = Self {
            json: None,
            keys: KeyDecoder::new(),
            buffer: Buffer::new(),
            display: Display::new(columns),
            history: History::default(),
            killed: String::new(),
            prompt: String::from(prompt),
            dropped: 0,
            invalid: None,
        };
        editor.set_columns(columns);
        editor
    }

    /// Sets the terminal's width.
    pub fn set_columns(&mut self, columns: usize) {
        self.display
            .set_columns(columns.saturating_sub(self.prompt.len()));
    }

    /// Shows the prompt and what is typed already.
    pub fn start(&mut self, echo: &mut Vec<u8>) {
        echo.extend_from_slice(self.prompt.as_bytes());
        self.display.start();
        self.refresh(echo);
    }

    /// Whether nothing of a line has been typed.
    pub fn is_empty(&self) -> bool {
        self.json.is_none() && self.buffer.text().is_empty() && self.keys.is_idle()
    }

    /// Takes one byte. The screen is brought up to date by [`Self::refresh`], once for many bytes;
    /// a finished line has been shown whole and the cursor is on a new row.
    pub fn push(&mut self, byte: u8, echo: &mut Vec<u8>) -> Option<Input> {
        if self.json.is_some() {
            return self.push_json(byte, echo);
        }
        if byte == b'{' && self.is_empty() && self.dropped == 0 {
            self.keys.swallows(byte);
            self.json = Some(Vec::from(b"{"));
            return None;
        }
        // One byte completes at most one line; a refuted character may come before its key.
        let mut decoded = [None; 5];
        let mut n = 0;
        self.keys.push(byte, &mut |key| {
            decoded[n] = Some(key);
            n += 1;
        });
        decoded
            .into_iter()
            .flatten()
            .find_map(|key| self.key(key, echo))
    }

    /// The line in the making, when no byte will ever follow.
    pub fn finish(&mut self, echo: &mut Vec<u8>) -> Option<Input> {
        if self.is_empty() {
            return None;
        }
        // In pasted text a line end does not enter.
        let line = self.push(b'\n', echo).unwrap_or_else(|| self.enter(echo));
        self.keys = KeyDecoder::new();
        Some(line)
    }

    /// Brings the terminal's row up to date.
    pub fn refresh(&mut self, echo: &mut Vec<u8>) {
        self.display
            .update(self.buffer.text(), self.buffer.cursor(), echo);
    }

    /// Ctrl-C, CR, LF, Ctrl-U and backspace occur in no JSON text; all other bytes are the line's.
    fn push_json(&mut self, byte: u8, echo: &mut Vec<u8>) -> Option<Input> {
        let bytes = self.json.as_mut()?;
        match byte {
            b'\r' | b'\n' | 0x03 | 0x15 => {}
            // DEL may stand in a JSON string, but not right after the brace.
            0x08 | 0x7F if bytes.len() == 1 => {}
            0x08 => {
                bytes.pop();
                return None;
            }
            _ if bytes.len() < MAX_JSON_BYTES => {
                bytes.push(byte);
                return None;
            }
            _ => {
                self.dropped += 1;
                return None;
            }
        }
        let dropped = core::mem::take(&mut self.dropped);
        let bytes = self.json.take()?;
        match byte {
            0x03 => {
                echo.extend_from_slice(b"^C\r\n");
                return Some(Input::Interrupt);
            }
            b'\r' => self.keys.note_cr(),
            b'\n' => {}
            _ => return None,
        }
        Some(match dropped {
            0 => Input::Json(bytes),
            _ => Input::Overlong {
                json: Some(bytes),
                limit: MAX_JSON_BYTES,
                dropped,
            },
        })
    }

    fn key(&mut self, key: Key, echo: &mut Vec<u8>) -> Option<Input> {
        let cursor = self.buffer.cursor();
        let end = self.buffer.text().len();
        match key {
            Key::Char(c) => self.insert(c, echo),
            Key::PastedNewline => self.insert('\n', echo),
            Key::Tab => self.insert('\t', echo),
            Key::Invalid(byte) => {
                let (count, first) = self.invalid.unwrap_or((0, byte));
                self.invalid = Some((count + 1, first));
                self.insert('\u{FFFD}', echo);
            }
            Key::Backspace => drop(self.delete(self.buffer.left()..cursor)),
            Key::Delete => drop(self.delete(cursor..self.buffer.right())),
            Key::Left => self.buffer.go_to(self.buffer.left()),
            Key::Right => self.buffer.go_to(self.buffer.right()),
            Key::WordLeft => self.buffer.go_to(self.buffer.word_left()),
            Key::WordRight => self.buffer.go_to(self.buffer.word_right()),
            Key::Home => self.buffer.go_to(0),
            Key::End => self.buffer.go_to(end),
            Key::KillToStart => self.kill(0..cursor),
            Key::KillToEnd => self.kill(cursor..end),
            Key::KillWordLeft => self.kill(self.buffer.word_left()..cursor),
            Key::KillWordRight => self.kill(cursor..self.buffer.word_right()),
            Key::Yank => {
                let killed = core::mem::take(&mut self.killed);
                killed.chars().for_each(|c| self.insert(c, echo));
                self.killed = killed;
            }
            Key::Up => {
                if let Some(line) = self.history.older(self.buffer.text()) {
                    self.buffer.set(line);
                }
            }
            Key::Down => {
                if let Some(line) = self.history.newer() {
                    self.buffer.set(line);
                }
            }
            Key::Redraw => {
                echo.extend_from_slice(b"\r\n");
                self.start(echo);
            }
            Key::EndOrDelete if end == 0 => return Some(Input::EndOfInput),
            Key::EndOrDelete => drop(self.delete(cursor..self.buffer.right())),
            Key::Interrupt => {
                self.buffer.go_to(end);
                self.refresh(echo);
                echo.extend_from_slice(b"^C\r\n");
                self.buffer.take();
                self.forget();
                self.history.stop_browsing();
                return Some(Input::Interrupt);
            }
            Key::Enter => return Some(self.enter(echo)),
        }
        None
    }

    fn enter(&mut self, echo: &mut Vec<u8>) -> Input {
        if self.display.is_scrolled(self.buffer.text()) {
            // The whole line once, wrapped by the terminal: the log of a session stays complete.
            self.buffer.go_to(0);
            self.refresh(echo);
            for c in self.buffer.text().chars() {
                match c {
                    '\n' => echo.extend_from_slice(b"\r\n"),
                    c => display::push_char(echo, c),
                }
            }
        } else {
            self.buffer.go_to(self.buffer.text().len());
            self.refresh(echo);
        }
        echo.extend_from_slice(b"\r\n");
        let line = self.buffer.take();
        self.history.add(&line);
        let (dropped, invalid) = (self.dropped, self.invalid);
        self.forget();
        match invalid {
            _ if dropped > 0 => Input::Overlong {
                json: None,
                limit: MAX_LINE_BYTES,
                dropped,
            },
            Some((count, first)) if line.contains('\u{FFFD}') => {
                Input::InvalidUtf8 { count, first }
            }
            _ => Input::Line(line),
        }
    }

    fn forget(&mut self) {
        self.dropped = 0;
        self.invalid = None;
        self.display.start();
    }

    fn insert(&mut self, c: char, echo: &mut Vec<u8>) {
        if self.buffer.text().len() + c.len_utf8() > MAX_LINE_BYTES {
            if self.dropped == 0 {
                echo.push(0x07);
            }
            self.dropped += c.len_utf8();
        } else {
            self.buffer.insert(c.encode_utf8(&mut [0; 4]));
        }
    }

    /// What did not fit is reported when the line is entered, unless all of the line is deleted.
    fn delete(&mut self, range: core::ops::Range<usize>) -> String {
        let removed = self.buffer.remove(range);
        if self.buffer.text().is_empty() {
            self.dropped = 0;
        }
        removed
    }

    fn kill(&mut self, range: core::ops::Range<usize>) {
        let killed = self.delete(range);
        if !killed.is_empty() {
            self.killed = killed;
        }
    }
}

#[cfg(test)]
mod tests;
