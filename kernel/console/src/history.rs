//! The lines a person has entered, for the up and down keys.

use alloc::collections::VecDeque;
use alloc::string::String;

/// Lines kept, newest last; bounded in number and in bytes.
#[derive(Debug, Default)]
pub struct History {
    lines: VecDeque<String>,
    bytes: usize,
    /// Index of the line on show while browsing; `None` while the draft is on show.
    at: Option<usize>,
    draft: String,
}

impl History {
    /// The most lines that are kept.
    pub const MAX_LINES: usize = 64;
    /// The most bytes that all kept lines have together.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// Keeps `line` unless it is blank or repeats the newest one; ends browsing.
    pub fn add(&mut self, line: &str) {
        self.stop_browsing();
        if line.trim().is_empty() || self.lines.back().is_some_and(|last| last == line) {
            return;
        }
        self.bytes += line.len();
        self.lines.push_back(String::from(line));
        while self.lines.len() > Self::MAX_LINES
            || (self.bytes > Self::MAX_BYTES && self.lines.len() > 1)
        {
            self.bytes -= self.lines.pop_front().map_or(0, |oldest| oldest.len());
        }
    }

    /// Goes back to the draft without showing it.
    pub fn stop_browsing(&mut self) {
        self.at = None;
        self.draft.clear();
    }

    /// The line before the one on show; `current` becomes the draft when browsing begins.
    pub fn older(&mut self, current: &str) -> Option<&str> {
        let index = match self.at {
            None => {
                let newest = self.lines.len().checked_sub(1)?;
                self.draft.clear();
                self.draft.push_str(current);
                newest
            }
            Some(index) => index.checked_sub(1)?,
        };
        self.at = Some(index);
        Some(&self.lines[index])
    }

    /// The line after the one on show, at last the draft; `None` when the draft is on show.
    pub fn newer(&mut self) -> Option<&str> {
        let index = self.at? + 1;
        if index < self.lines.len() {
            self.at = Some(index);
            Some(&self.lines[index])
        } else {
            self.at = None;
            Some(&self.draft)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::History;

    #[test]
    fn up_and_down_walk_and_give_the_draft_back() {
        let mut history = History::default();
        assert_eq!(history.older("draft"), None);
        for line in ["one", "two", "two", "  "] {
            history.add(line);
        }
        assert_eq!(history.older("draft"), Some("two"));
        assert_eq!(history.older("ignored"), Some("one"));
        assert_eq!(history.older("ignored"), None);
        assert_eq!(history.newer(), Some("two"));
        assert_eq!(history.newer(), Some("draft"));
        assert_eq!(history.newer(), None);
    }

    #[test]
    fn old_lines_give_way() {
        let mut history = History::default();
        for n in 0..History::MAX_LINES + 5 {
            history.add(&format!("line {n}"));
        }
        let mut oldest = String::new();
        while let Some(line) = history.older("") {
            oldest = line.to_owned();
        }
        assert_eq!(oldest, "line 5");

        history.add(&"x".repeat(History::MAX_BYTES - 1));
        history.add("last");
        assert_eq!(history.older(""), Some("last"));
        assert_eq!(
            history.older(""),
            None,
            "the long line had to go to keep the bytes bounded"
        );
    }
}
