//! What a file says, fit to be quoted on a line of a terminal.

use core::fmt::{self, Write};

/// Most characters of a quotation; names in a file can have tens of thousands.
const MAX_CHARS: usize = 200;

/// Text with control characters escaped and the overlong cut.
pub(crate) struct OneLine<'a>(pub(crate) &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, c) in self.0.chars().enumerate() {
            match i + 1 {
                MAX_CHARS => return f.write_char('…'),
                _ if c.is_control() => write!(f, "{}", c.escape_default())?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn quoted(text: &str) -> std::string::String {
        OneLine(text).to_string()
    }

    #[test]
    fn a_name_cannot_move_the_cursor_or_flood_the_screen() {
        assert_eq!(quoted("blk\u{1b}[2J\n"), "blk\\u{1b}[2J\\n");
        assert_eq!(quoted("é·中"), "é·中");
        assert_eq!(quoted(&"é".repeat(500)), "é".repeat(199) + "…");
    }
}
