//! The lines that answer a program.
//!
//! An answer with checksums may put several tokens into one event while the serial line is behind: what is fixed in a
//! line is written once for all of them. On an idle line each token is sent at once.

use crate::board::Serial;
use crate::screen::Screen;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use ops::crc32c;
use protocol::event::{Chunk, Texts, Token};
use protocol::{Event, Id, crc_line, json};

/// The most tokens of an event.
const MAX_TOKENS: usize = 32;
/// With so many bytes of text an event is full.
const FULL_BYTES: usize = 512;

/// Writes events as a program reads them.
pub struct Answers<'s> {
    serial: &'s dyn Serial,
    screen: Screen<'s>,
    /// The number of the next event, where the request had a checksum; each token counts.
    next_n: Option<u32>,
    waiting: Waiting,
}

/// Tokens that wait for the line.
struct Waiting {
    ids: Vec<(u32, usize)>,
    text: String,
    is_thinking: bool,
}

impl Waiting {
    fn is_full(&self) -> bool {
        self.ids.len() == MAX_TOKENS || self.text.len() >= FULL_BYTES
    }
}

impl<'s> Answers<'s> {
    /// Lines go to `serial`.
    pub fn new(serial: &'s dyn Serial) -> Self {
        Self {
            serial,
            screen: Screen::new(serial),
            next_n: None,
            waiting: Waiting {
                // Tokens cost no allocation; a text longer than any published vocabulary has costs one.
                ids: Vec::with_capacity(MAX_TOKENS),
                text: String::with_capacity(2 * FULL_BYTES),
                is_thinking: false,
            },
        }
    }

    /// Begins an answer, whose events have numbers and checksums or none.
    pub fn begin(&mut self, has_crc: bool) {
        self.next_n = has_crc.then_some(0);
    }

    /// Writes what answers another request, or none, in the middle of an answer, whose tokens wait on.
    pub fn aside(&mut self, has_crc: bool, id: &Id, events: &[Event<'_>]) {
        let next_n = core::mem::replace(&mut self.next_n, has_crc.then_some(0));
        events.iter().for_each(|event| self.write(id, event, 1));
        self.next_n = next_n;
    }

    /// Writes an event, or keeps a token for the next one.
    pub fn event(&mut self, id: &Id, event: &Event<'_>) {
        match event {
            Event::Token(token) if self.next_n.is_some() => {
                self.keep(id, token);
                if !self.serial.is_behind() {
                    self.flush(id);
                }
            }
            event => {
                self.flush(id);
                self.write(id, event, 1);
            }
        }
    }

    fn keep(&mut self, id: &Id, token: &Token<'_>) {
        if self.waiting.is_full() || self.waiting.is_thinking != token.thinking {
            self.flush(id);
        }
        self.waiting.is_thinking = token.thinking;
        self.waiting.ids.push((token.token, token.text.len()));
        self.waiting.text.push_str(&token.text);
    }

    /// Sends the tokens that waited.
    fn flush(&mut self, id: &Id) {
        let Waiting {
            ids,
            text,
            is_thinking,
        } = &self.waiting;
        let n_tokens = ids.len();
        let line = match ids[..] {
            [] => return,
            [(token, _)] => Event::Token(Token {
                token,
                text: Cow::Borrowed(text),
                thinking: *is_thinking,
            }),
            _ => Event::Chunk(Chunk {
                tokens: Texts {
                    ids: Cow::Borrowed(ids),
                    text: Cow::Borrowed(text),
                },
                thinking: *is_thinking,
            }),
        };
        let mut out = Lines {
            screen: self.screen,
            next_n: &mut self.next_n,
        };
        out.write(id, &line, n_tokens as u32);
        self.waiting.ids.clear();
        self.waiting.text.clear();
    }

    fn write(&mut self, id: &Id, event: &Event<'_>, count: u32) {
        let mut out = Lines {
            screen: self.screen,
            next_n: &mut self.next_n,
        };
        out.write(id, event, count);
    }
}

/// Where lines go, and the number of the next one.
struct Lines<'n, 's> {
    screen: Screen<'s>,
    next_n: &'n mut Option<u32>,
}

impl Lines<'_, '_> {
    /// Writes an event that counts as `count`.
    fn write(&mut self, id: &Id, event: &Event<'_>, count: u32) {
        // The serial line takes everything.
        let _ = match self.next_n {
            None => json::write(&mut self.screen, id, event),
            Some(next_n) => {
                let n = *next_n;
                *next_n = n.wrapping_add(count);
                crc_line::write(&mut self.screen, crc32c::extend, id, n, event)
            }
        };
        self.screen.put("\n");
    }
}

#[cfg(test)]
mod tests {
    use super::{Answers, FULL_BYTES, MAX_TOKENS};
    use crate::board::Serial;
    use protocol::event::{Line, Text, Token};
    use protocol::{Event, Id, crc_line};
    use std::cell::{Cell, RefCell};

    #[derive(Default)]
    struct Wire {
        is_behind: Cell<bool>,
        sent: RefCell<Vec<u8>>,
    }

    impl Serial for Wire {
        fn read(&self) -> Option<u8> {
            None
        }
        fn write(&self, bytes: &[u8]) {
            self.sent.borrow_mut().extend_from_slice(bytes);
        }
        fn wait(&self) {}
        fn is_behind(&self) -> bool {
            self.is_behind.get()
        }
    }

    fn token(text: &str, thinking: bool) -> Event<'_> {
        Event::Token(Token {
            token: 5,
            text: text.into(),
            thinking,
        })
    }

    /// The number of each event, and how many tokens it has.
    fn sent(wire: &Wire) -> Vec<(u32, usize)> {
        let sent = wire.sent.take();
        let lines = sent.split(|&byte| byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        lines
            .map(|line| {
                let (json, _) = crc_line::split(line.trim_ascii_end()).expect("a checksum");
                let line: Line<'_> = serde_json::from_slice(json).expect("JSON");
                let n_tokens = match line.event {
                    Event::Token(_) => 1,
                    Event::Chunk(chunk) => chunk.iter().count(),
                    _ => 0,
                };
                (line.n.expect("a number"), n_tokens)
            })
            .collect()
    }

    #[test]
    fn tokens_wait_for_the_line_and_no_longer() {
        let wire = Wire::default();
        let mut answers = Answers::new(&wire);
        answers.begin(true);
        let a = token("a", false);
        answers.event(&Id::None, &a);
        assert_eq!(sent(&wire), [(0, 1)], "an idle line");
        wire.is_behind.set(true);
        (0..3).for_each(|_| answers.event(&Id::None, &a));
        assert_eq!(sent(&wire), []);
        wire.is_behind.set(false);
        answers.event(&Id::None, &a);
        assert_eq!(sent(&wire), [(1, 4)]);
        wire.is_behind.set(true);
        answers.event(&Id::None, &a);
        let text = Event::Text(Text { text: "b".into() });
        answers.event(&Id::None, &text);
        assert_eq!(sent(&wire), [(5, 1), (6, 0)], "the order stays");
    }

    #[test]
    fn thoughts_and_answers_share_no_event() {
        let wire = Wire::default();
        let mut answers = Answers::new(&wire);
        answers.begin(true);
        wire.is_behind.set(true);
        for thinking in [true, true, false, false] {
            answers.event(&Id::None, &token("a", thinking));
        }
        wire.is_behind.set(false);
        answers.event(&Id::None, &token("a", false));
        assert_eq!(sent(&wire), [(0, 2), (2, 3)]);
    }

    #[test]
    fn an_event_has_a_length() {
        let wire = Wire::default();
        let mut answers = Answers::new(&wire);
        answers.begin(true);
        wire.is_behind.set(true);
        (0..MAX_TOKENS + 1).for_each(|_| answers.event(&Id::None, &token("a", false)));
        assert_eq!(sent(&wire), [(0, MAX_TOKENS)]);
        let long = "a".repeat(FULL_BYTES);
        (0..3).for_each(|_| answers.event(&Id::None, &token(&long, false)));
        let n = MAX_TOKENS as u32;
        assert_eq!(sent(&wire), [(n, 2), (n + 2, 1)]);
    }
}
