//! Bytes from a terminal to keys.
//!
//! **Resources**: ECMA-48 (control sequences, §5.4), xterm's "Control Sequences" (cursor, function and
//! modified keys, bracketed paste).

use session::Utf8Stream;

/// One thing a person does to the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character to insert.
    Char(char),
    /// A byte that belongs to no UTF-8 character.
    Invalid(u8),
    /// CR, LF or CRLF.
    Enter,
    /// A line break inside pasted text.
    PastedNewline,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D: delete, or end of input on an empty line.
    EndOrDelete,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// One character left.
    Left,
    /// One character right.
    Right,
    /// One word left.
    WordLeft,
    /// One word right.
    WordRight,
    /// To the start of the line.
    Home,
    /// To the end of the line.
    End,
    /// The line before in the history.
    Up,
    /// The line after in the history.
    Down,
    /// Deletes to the start of the line.
    KillToStart,
    /// Deletes to the end of the line.
    KillToEnd,
    /// Deletes the word before the cursor.
    KillWordLeft,
    /// Deletes the word after the cursor.
    KillWordRight,
    /// Inserts what was deleted last.
    Yank,
    /// Tab.
    Tab,
    /// Draws the line again.
    Redraw,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    /// After `ESC O`.
    Ss3,
    /// After `ESC [`: the first parameter, the second, and which one is being read.
    Csi {
        params: [u16; 2],
        index: usize,
    },
}

/// Decodes keys; keeps what has arrived of a character or of an escape sequence.
#[derive(Debug)]
pub struct KeyDecoder {
    state: State,
    after_cr: bool,
    pasting: bool,
    utf8: Utf8Stream,
}

impl KeyDecoder {
    /// A decoder at the start of a stream.
    pub const fn new() -> Self {
        Self {
            state: State::Ground,
            after_cr: false,
            pasting: false,
            utf8: Utf8Stream::new(),
        }
    }

    /// Whether the next byte starts something new, outside of pasted text.
    pub fn is_idle(&self) -> bool {
        self.state == State::Ground && !self.pasting && self.utf8.held_bytes() == 0
    }

    /// Whether `byte` is the LF of a CRLF whose CR has been taken; must be asked before [`Self::push`].
    pub fn swallows(&mut self, byte: u8) -> bool {
        let swallow = self.after_cr && byte == b'\n';
        self.after_cr = false;
        swallow
    }

    /// Remembers that a CR ended a line that did not go through [`Self::push`].
    pub fn note_cr(&mut self) {
        self.after_cr = true;
    }

    /// Takes one byte; `emit` gets the keys it completes (two when it also refutes a character).
    pub fn push(&mut self, byte: u8, emit: &mut dyn FnMut(Key)) {
        if self.swallows(byte) {
            return;
        }
        match self.state {
            State::Ground => self.ground(byte, emit),
            State::Escape => self.escape(byte, emit),
            State::Ss3 => {
                self.state = State::Ground;
                match byte {
                    b'A'..=b'H' => self.csi_final(byte, [0; 2], emit),
                    0x00..=0x1F => self.ground(byte, emit),
                    _ => {}
                }
            }
            State::Csi {
                mut params,
                mut index,
            } => match byte {
                b'0'..=b'9' => {
                    if let Some(param) = params.get_mut(index) {
                        *param = param
                            .saturating_mul(10)
                            .saturating_add(u16::from(byte - b'0'));
                    }
                    self.state = State::Csi { params, index };
                }
                b';' => {
                    index = (index + 1).min(params.len());
                    self.state = State::Csi { params, index };
                }
                0x20..=0x3F => {}
                0x40..=0x7E => {
                    self.state = State::Ground;
                    self.csi_final(byte, params, emit);
                }
                // A control character, or the start of text, ends a sequence that was cut.
                _ => {
                    self.state = State::Ground;
                    self.ground(byte, emit);
                }
            },
        }
    }

    fn ground(&mut self, byte: u8, emit: &mut dyn FnMut(Key)) {
        let mut utf8 = core::mem::take(&mut self.utf8);
        utf8.push_byte(byte, &mut |piece| match piece {
            Ok(text) => text
                .chars()
                .filter_map(|c| self.key(c))
                .for_each(&mut *emit),
            Err(bytes) => bytes.iter().for_each(|&byte| emit(Key::Invalid(byte))),
        });
        self.utf8 = utf8;
    }

    /// The key of a character outside of escape sequences, if it is one.
    fn key(&mut self, c: char) -> Option<Key> {
        match c {
            '\x1B' => {
                self.state = State::Escape;
                None
            }
            '\r' | '\n' => {
                self.after_cr = c == '\r';
                Some(match self.pasting {
                    true => Key::PastedNewline,
                    false => Key::Enter,
                })
            }
            '\t' if !self.pasting => Some(Key::Tab),
            // The end mark of a paste may have been lost: Ctrl-C is the way out.
            '\x03' => {
                self.pasting = false;
                Some(Key::Interrupt)
            }
            '\0'..' ' | '\x7F' if c != '\t' => control(c),
            c => Some(Key::Char(c)),
        }
    }

    fn escape(&mut self, byte: u8, emit: &mut dyn FnMut(Key)) {
        self.state = State::Ground;
        match byte {
            b'[' => {
                self.state = State::Csi {
                    params: [0; 2],
                    index: 0,
                }
            }
            b'O' => self.state = State::Ss3,
            0x1B => self.state = State::Escape,
            b'b' => emit(Key::WordLeft),
            b'f' => emit(Key::WordRight),
            b'd' => emit(Key::KillWordRight),
            0x7F | 0x08 => emit(Key::KillWordLeft),
            // Enter and Ctrl-C act even after a stray ESC.
            0x00..=0x1F | 0x80.. => self.ground(byte, emit),
            _ => {}
        }
    }

    fn csi_final(&mut self, byte: u8, params: [u16; 2], emit: &mut dyn FnMut(Key)) {
        // The second parameter is 1 + shift + 2·alt + 4·ctrl; rxvt writes Ctrl as `ESC O d`, others as `ESC [ 5 D`.
        let by_word = params[1] > 2 || params[0] == 5;
        let key = match (byte, params[0]) {
            (b'A', _) => Key::Up,
            (b'B', _) => Key::Down,
            (b'C', _) if by_word => Key::WordRight,
            (b'D', _) if by_word => Key::WordLeft,
            (b'C', _) => Key::Right,
            (b'D', _) => Key::Left,
            (b'H', _) | (b'~', 1 | 7) => Key::Home,
            (b'F', _) | (b'~', 4 | 8) => Key::End,
            (b'~', 3) if by_word => Key::KillWordRight,
            (b'~', 3) => Key::Delete,
            (b'~', 200) => {
                self.pasting = true;
                return;
            }
            (b'~', 201) => {
                self.pasting = false;
                return;
            }
            _ => return,
        };
        emit(key);
    }
}

/// The key of a C0 control character or DEL, as in readline.
fn control(c: char) -> Option<Key> {
    Some(match c {
        '\x01' => Key::Home,
        '\x02' => Key::Left,
        '\x04' => Key::EndOrDelete,
        '\x05' => Key::End,
        '\x06' => Key::Right,
        '\x08' | '\x7F' => Key::Backspace,
        '\x0B' => Key::KillToEnd,
        '\x0C' => Key::Redraw,
        '\x0E' => Key::Down,
        '\x10' => Key::Up,
        '\x15' => Key::KillToStart,
        '\x17' => Key::KillWordLeft,
        '\x19' => Key::Yank,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Key, KeyDecoder};

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut decoder = KeyDecoder::new();
        let mut seen = Vec::new();
        for &byte in bytes {
            decoder.push(byte, &mut |key| seen.push(key));
        }
        seen
    }

    #[test]
    fn line_ends_of_every_system_are_one_enter() {
        assert_eq!(keys(b"\r"), [Key::Enter]);
        assert_eq!(keys(b"\n"), [Key::Enter]);
        assert_eq!(keys(b"\r\n"), [Key::Enter]);
        assert_eq!(keys(b"\r\n\r\n\n"), [Key::Enter, Key::Enter, Key::Enter]);
    }

    #[test]
    fn cursor_keys_of_the_common_terminals() {
        for (bytes, key) in [
            (&b"\x1b[A"[..], Key::Up),
            (b"\x1bOB", Key::Down),
            (b"\x1b[1;5C", Key::WordRight),
            (b"\x1b[1;3D", Key::WordLeft),
            (b"\x1b[5D", Key::WordLeft),
            (b"\x1bb", Key::WordLeft),
            (b"\x1b[1~", Key::Home),
            (b"\x1bOF", Key::End),
            (b"\x1b[8~", Key::End),
            (b"\x1b[3~", Key::Delete),
            (b"\x1b[3;5~", Key::KillWordRight),
            (b"\x1b\x7f", Key::KillWordLeft),
        ] {
            assert_eq!(keys(bytes), [key], "{bytes:?}");
        }
    }

    #[test]
    fn unknown_sequences_leave_nothing_behind() {
        assert_eq!(keys(b"\x1b[38;5;1mx"), [Key::Char('x')]);
        assert_eq!(keys(b"\x1b[>0;276;0cx"), [Key::Char('x')]);
        assert_eq!(keys(b"\x1b[99999999999999999999~x"), [Key::Char('x')]);
        assert_eq!(keys(b"\x1b[1\rx"), [Key::Enter, Key::Char('x')]);
        assert_eq!(keys(b"\x1b\x03"), [Key::Interrupt]);
    }

    #[test]
    fn pasted_line_ends_do_not_enter() {
        assert_eq!(
            keys(b"\x1b[200~a\r\nb\tc\x1b[201~\r"),
            [
                Key::Char('a'),
                Key::PastedNewline,
                Key::Char('b'),
                Key::Char('\t'),
                Key::Char('c'),
                Key::Enter
            ]
        );
    }

    #[test]
    fn ctrl_c_leaves_a_paste_whose_end_was_lost() {
        for cut in ["a", "a\x1b", "a\x1b[", "a\x1b[20", "a\x1bO"] {
            let mut bytes = Vec::from(b"\x1b[200~");
            bytes.extend_from_slice(cut.as_bytes());
            bytes.extend_from_slice(b"\x03b\r");
            let expected = [Key::Char('a'), Key::Interrupt, Key::Char('b'), Key::Enter];
            assert_eq!(keys(&bytes), expected, "{cut:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_told_apart() {
        assert_eq!(keys("é".as_bytes()), [Key::Char('é')]);
        assert_eq!(keys(b"\xE9x"), [Key::Invalid(0xE9), Key::Char('x')]);
        assert_eq!(keys(b"\xFF"), [Key::Invalid(0xFF)]);
        assert_eq!(keys(b"\xE9\r"), [Key::Invalid(0xE9), Key::Enter]);
    }
}
