//! Settings from the kernel command line and from `pilm.txt`.

use super::kind::unquoted;
use super::{SettingError, Settings};

impl Settings {
    /// Takes the `pilm.NAME=VALUE` words of a kernel command line; values with spaces stand in double
    /// quotes. Other words belong to others. What is wrong is handed to `report`.
    pub fn apply_command_line(&mut self, line: &str, report: &mut dyn FnMut(SettingError)) {
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let mut quoted = false;
            let end = rest
                .find(|c: char| {
                    quoted ^= c == '"';
                    c.is_whitespace() && !quoted
                })
                .unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            rest = tail.trim_start();
            let word = word.trim_matches('\0');
            if let Some(option) = word.strip_prefix("pilm.") {
                let (key, value) = option.split_once('=').unwrap_or((option, "on"));
                if let Err(error) = self.set(key, unquoted(value)) {
                    report(error);
                }
            }
        }
    }

    /// Takes the lines of `pilm.txt`: `NAME = VALUE`; empty lines and lines that start with `#` are skipped.
    /// What is wrong is handed to `report`.
    pub fn apply_file(&mut self, text: &str, report: &mut dyn FnMut(SettingError)) {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let done = match line.split_once('=') {
                Some((key, value)) => self.set(key.trim(), unquoted(value.trim())),
                None => Err(SettingError::NoEquals { line: index + 1 }),
            };
            if let Err(error) = done {
                report(error);
            }
        }
    }
}
