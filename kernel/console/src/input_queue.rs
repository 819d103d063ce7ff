//! What has been typed: lines when the session asks for them, and what acts before its turn.
//!
//! While the session works, bytes that arrive are kept unread and unechoed (`ahead`), so that typing ahead works
//! and does not mix with the answer.

mod ahead;
mod at_once;

use crate::board::Serial;
use crate::line_editor::{Input, LineEditor};
use ahead::{Ahead, INTERRUPT};
use alloc::vec::Vec;
use protocol::Id;
use protocol::crc_line::LineCheck;

pub use at_once::{AtOnce, Caller};

/// Asks the terminal to mark pasted text (xterm's mode 2004), so that its line ends enter nothing.
pub const PASTE_MARKS_ON: &str = "\x1b[?2004h";

/// What the serial line has brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A line, or a key that acts like one.
    Input(Input),
    /// Bytes were lost, and no line has ended since.
    Lost,
    /// Nothing, for ever.
    End,
}

/// Bytes from the serial line, on their way to lines.
pub struct InputQueue<'s> {
    serial: &'s dyn Serial,
    /// The line in the making.
    pub editor: LineEditor,
    echo: Vec<u8>,
    ahead: Ahead,
    /// Whether each prompt asks for marks of pastes.
    asks_for_marks: bool,
    prompted: bool,
}

impl<'s> InputQueue<'s> {
    /// An input on `serial`.
    pub fn new(serial: &'s dyn Serial, prompt: &str, columns: usize, asks_for_marks: bool) -> Self {
        Self {
            serial,
            editor: LineEditor::new(prompt, columns),
            echo: Vec::new(),
            ahead: Ahead::new(),
            asks_for_marks,
            prompted: false,
        }
    }

    /// The next line; shows the prompt and the typing. Comes back early when `is_lost` says that bytes were lost.
    pub fn next_input(&mut self, is_lost: &dyn Fn() -> bool) -> Next {
        if !core::mem::replace(&mut self.prompted, true) {
            self.editor.start(&mut self.echo);
            if self.asks_for_marks {
                // Each time: the terminal may be another one by now.
                self.echo.extend_from_slice(PASTE_MARKS_ON.as_bytes());
            }
        }
        let input = loop {
            if let Some(byte) = self.next_byte() {
                match self.editor.push(byte, &mut self.echo) {
                    Some(input) => break input,
                    None => continue,
                }
            }
            self.editor.refresh(&mut self.echo);
            self.send_echo();
            if is_lost() {
                self.echo.extend_from_slice(b"\r\n");
                self.end_row();
                return Next::Lost;
            }
            if self.serial.is_closed() {
                match self.editor.finish(&mut self.echo) {
                    Some(input) => break input,
                    None => return Next::End,
                }
            }
            self.serial.wait();
        };
        match input {
            // A program's line has no echo, so the cursor stands behind the prompt: events start on a row of
            // their own.
            Input::Json(_) | Input::Overlong { json: Some(_), .. } => {
                self.echo.extend_from_slice(b"\r\n");
            }
            // It has acted, and is no stop of what comes next.
            Input::Interrupt => drop(self.serial.take_interrupt()),
            _ => {}
        }
        self.end_row();
        Next::Input(input)
    }

    /// Begins a time in which the request `id` runs; `can_stop`: an `abort` stops it.
    pub fn begin(&mut self, id: Id, can_stop: bool) {
        self.ahead.begin(id, can_stop);
    }

    /// Ends it.
    pub fn end(&mut self) {
        self.ahead.stop_watching();
    }

    /// Takes in all that has arrived.
    pub fn drain(&mut self) {
        let mut is_interrupted = false;
        while let Some(byte) = self.serial.read() {
            is_interrupted |= byte == INTERRUPT;
            self.ahead.keep(byte);
        }
        // There may have been no room for the byte.
        if self.serial.take_interrupt() && !is_interrupted {
            self.ahead.keep(INTERRUPT);
        }
    }

    /// What acts before its turn, in the order of arrival.
    pub fn at_once(&mut self) -> Option<AtOnce> {
        self.ahead.at_once()
    }

    /// Who sent the abort of the oldest [`AtOnce::Stop`] that was taken.
    pub fn take_stop(&mut self) -> Caller {
        self.ahead.take_stop()
    }

    /// Which lines of programs are taken.
    pub fn lines(&mut self) -> &mut LineCheck {
        &mut self.ahead.lines
    }

    /// How many bytes were lost since the last call because more was sent than is kept.
    pub fn take_lost(&mut self) -> usize {
        self.ahead.take_lost()
    }

    fn next_byte(&mut self) -> Option<u8> {
        self.ahead.pop().or_else(|| {
            let byte = self.serial.read()?;
            match self.ahead.swallows(byte) {
                true => self.serial.read(),
                false => Some(byte),
            }
        })
    }

    fn end_row(&mut self) {
        self.send_echo();
        self.prompted = false;
    }

    fn send_echo(&mut self) {
        self.serial.write(&self.echo);
        self.echo.clear();
    }
}

#[cfg(test)]
mod tests;
