//! The lines that answer a program.

use crate::screen::Screen;
use ops::crc32c;
use protocol::{Event, Id, crc_line, json};

/// Writes events as a program reads them.
pub struct Answers<'s> {
    screen: Screen<'s>,
    /// The number of the next event, where the request had a checksum.
    next_n: Option<u32>,
}

impl<'s> Answers<'s> {
    /// Lines go to `screen`.
    pub fn new(screen: Screen<'s>) -> Self {
        Self {
            screen,
            next_n: None,
        }
    }

    /// Begins an answer, whose events have numbers and checksums or none.
    pub fn begin(&mut self, has_crc: bool) {
        self.next_n = has_crc.then_some(0);
    }

    /// Writes what answers another request, or none, in the middle of an answer.
    pub fn aside(&mut self, has_crc: bool, id: &Id, events: &[Event<'_>]) {
        let next_n = core::mem::replace(&mut self.next_n, has_crc.then_some(0));
        events.iter().for_each(|event| self.event(id, event));
        self.next_n = next_n;
    }

    /// Writes an event.
    pub fn event(&mut self, id: &Id, event: &Event<'_>) {
        // The serial line takes everything.
        let _ = match &mut self.next_n {
            None => json::write(&mut self.screen, id, event),
            Some(next_n) => {
                let n = *next_n;
                *next_n = n.wrapping_add(1);
                crc_line::write(&mut self.screen, crc32c::extend, id, n, event)
            }
        };
        self.screen.put("\n");
    }
}
