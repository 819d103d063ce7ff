//! The text of the line and the cursor in it, without any screen.

use alloc::string::String;
use core::ops::Range;
use unicode_width::UnicodeWidthChar;

/// A line of text with a cursor that always stands between two characters.
#[derive(Debug, Default)]
pub struct Buffer {
    text: String,
    cursor: usize,
}

impl Buffer {
    /// An empty line.
    pub const fn new() -> Self {
        Self {
            text: String::new(),
            cursor: 0,
        }
    }

    /// The line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The cursor as a byte offset into [`Self::text`].
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Replaces the line; the cursor goes to its end.
    pub fn set(&mut self, text: &str) {
        self.text.clear();
        self.text.push_str(text);
        self.cursor = self.text.len();
    }

    /// Gives the line away and leaves an empty one.
    pub fn take(&mut self) -> String {
        self.cursor = 0;
        core::mem::take(&mut self.text)
    }

    /// Inserts `text` at the cursor and steps over it.
    pub fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    /// Removes `range` (byte offsets between characters); the cursor goes to its start.
    pub fn remove(&mut self, range: Range<usize>) -> String {
        self.cursor = range.start;
        self.text.drain(range).collect()
    }

    /// Puts the cursor at a byte offset between characters.
    pub fn go_to(&mut self, at: usize) {
        debug_assert!(self.text.is_char_boundary(at));
        self.cursor = at;
    }

    /// Where the cursor is after one step left: combining marks go with their base.
    pub fn left(&self) -> usize {
        let mut at = self.cursor;
        for (start, c) in self.text[..self.cursor].char_indices().rev() {
            at = start;
            if c.width() != Some(0) {
                break;
            }
        }
        at
    }

    /// Where the cursor is after one step right.
    pub fn right(&self) -> usize {
        let after = &self.text[self.cursor..];
        after
            .char_indices()
            .skip(1)
            .find(|&(_, c)| c.width() != Some(0))
            .map_or(self.text.len(), |(at, _)| self.cursor + at)
    }

    /// Where the word before the cursor starts.
    pub fn word_left(&self) -> usize {
        let before = &self.text[..self.cursor];
        let gap = before.trim_end_matches(|c: char| !c.is_alphanumeric());
        gap.trim_end_matches(char::is_alphanumeric).len()
    }

    /// Where the word after the cursor ends.
    pub fn word_right(&self) -> usize {
        let after = &self.text[self.cursor..];
        let word = after.trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - word.trim_start_matches(char::is_alphanumeric).len()
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let mut buffer = Buffer::new();
        buffer.set("  naïve, 42-year café");
        let mut stops = Vec::new();
        while buffer.cursor() > 0 {
            buffer.go_to(buffer.word_left());
            stops.push(buffer.cursor());
        }
        assert_eq!(
            stops,
            [
                "  naïve, 42-year ".len(),
                "  naïve, 42-".len(),
                "  naïve, ".len(),
                2,
                0
            ]
        );
        buffer.go_to(0);
        assert_eq!(buffer.word_right(), "  naïve".len());
    }

    #[test]
    fn a_step_takes_marks_along() {
        let mut buffer = Buffer::new();
        buffer.set("ae\u{301}b");
        buffer.go_to(4);
        assert_eq!(buffer.left(), 1);
        buffer.go_to(1);
        assert_eq!(buffer.right(), 4);
    }
}
