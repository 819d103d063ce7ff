//! Sentences that quote a file, fit for one line of a terminal.

use core::fmt::{self, Write};

/// Most characters of a sentence; names in a file can have tens of thousands.
const MAX_CHARS: usize = 400;

/// Passes text on with control characters escaped and the overlong cut.
pub(crate) struct OneLine<'f, W> {
    out: &'f mut W,
    chars_left: usize,
}

impl<'f, W: Write> OneLine<'f, W> {
    pub(crate) fn new(out: &'f mut W) -> Self {
        OneLine {
            out,
            chars_left: MAX_CHARS,
        }
    }
}

impl<W: Write> Write for OneLine<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match self.chars_left {
                0 => return Ok(()),
                1 => self.out.write_char('…')?,
                _ if c.is_control() => write!(self.out, "{}", c.escape_default())?,
                _ => self.out.write_char(c)?,
            }
            self.chars_left -= 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    fn shown(text: &str) -> String {
        let mut out = String::new();
        OneLine::new(&mut out).write_str(text).unwrap();
        out
    }

    #[test]
    fn a_name_cannot_move_the_cursor_or_flood_the_screen() {
        assert_eq!(shown("blk\u{1b}[2J\n"), "blk\\u{1b}[2J\\n");
        assert_eq!(shown("é·中"), "é·中");
        assert_eq!(shown(&"é".repeat(500)), "é".repeat(399) + "…");
    }
}
