//! Settings from the kernel command line and from `pilm.txt`.

use super::kind::unquoted;
use super::{Section, SettingError, Settings};
use alloc::vec::Vec;

impl Settings {
    /// Takes the `pilm.NAME=VALUE` words of a kernel command line; values with spaces stand in double
    /// quotes. Other words belong to others. What is wrong is handed to `report`.
    pub fn apply_command_line(&mut self, line: &str, report: &mut dyn FnMut(SettingError)) {
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let mut quoted = false;
            let mut end = rest
                .find(|c: char| {
                    quoted ^= c == '"';
                    c.is_whitespace() && !quoted
                })
                .unwrap_or(rest.len());
            if quoted {
                // The words behind it are words of their own.
                end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            }
            let (word, tail) = rest.split_at(end);
            rest = tail.trim_start();
            let word = word.trim_matches('\0');
            if let Some(option) = word.strip_prefix("pilm.") {
                let (key, value) = option.split_once('=').unwrap_or((option, "on"));
                let done = match quoted {
                    true => Err(SettingError::OpenQuote { word: word.into() }),
                    false => self.set(key, unquoted(value)),
                };
                if let Err(error) = done {
                    report(error);
                }
            }
        }
    }

    /// Takes the lines of `pilm.txt`: `NAME = VALUE`; empty lines and lines that start with `#` are skipped. What follows
    /// a line `[NAME]` holds for the models whose file name begins so, and is handed back. What is wrong is handed to
    /// `report`.
    pub fn apply_file(&mut self, text: &str, report: &mut dyn FnMut(SettingError)) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = index + 1;
            let done = match (line.strip_prefix('['), line.split_once('=')) {
                (Some(rest), _) => {
                    let name = rest.strip_suffix(']').unwrap_or("").trim();
                    sections.push(Section::new(name));
                    match name {
                        "" => Err(SettingError::NoName { line: number }),
                        _ => Ok(()),
                    }
                }
                (None, Some((key, value))) => {
                    let (key, value) = (key.trim(), unquoted(value.trim()));
                    match sections.last_mut() {
                        Some(section) => section.set(key, value),
                        None => self.set(key, value).map(drop),
                    }
                }
                (None, None) => Err(SettingError::NoEquals { line: number }),
            };
            if let Err(error) = done {
                report(error);
            }
        }
        // What follows a line that names no model holds for none.
        sections.retain(Section::has_name);
        sections
    }
}
