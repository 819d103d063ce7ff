//! The figures as lines `what: figure`, in the order in which they are printed and kept in docs/speed.md.

use super::{bars, pieces};
use std::fmt;

/// What lines begin with, in their order; lines of another kind come first. The command ends with the last kind.
const KINDS: [&str; 4] = ["prefill", "work", "pass", "decode"];
const TYPES: [&str; 3] = ["q8_0", "q4_1", "f16"];

/// What lines about the work of one core, all others sleeping, end with.
pub const THE_ONLY_CORE: &str = "core 0 of 1";

/// Instructions per token of a prompt.
pub fn prefill(name: &str, prompt_tokens: usize, instructions: f64) -> String {
    let millions = instructions / 1e6;
    format!("prefill {name} prompt{prompt_tokens}: {millions:.1} M per token")
}

/// Instructions of a decoded token.
pub fn decode(name: &str, position: usize, instructions: f64) -> String {
    format!("decode {name} pos{position}: {:.1} M", instructions / 1e6)
}

/// Instructions of a pass that works in a token and `guess` guessed ones.
pub fn pass(name: &str, guess: usize, instructions: f64) -> String {
    format!("pass {name} guess{guess}: {:.1} M", instructions / 1e6)
}

/// Work of `who` for a decoded token.
pub fn work(name: &str, position: usize, who: &str, work: &str) -> String {
    format!("work {name} pos{position} {who}: {work}")
}

/// Lines by what they are about.
#[derive(Debug, Default)]
pub struct Lines {
    all: Vec<(String, String)>,
}

impl Lines {
    /// Those of a section of docs/speed.md: the lines of its code block.
    pub fn in_section(section: &str) -> Lines {
        let mut lines = Lines::default();
        let block = section.lines().skip_while(|line| *line != "```").skip(1);
        block
            .take_while(|line| *line != "```")
            .for_each(|line| lines.put(line));
        lines
    }

    /// Adds `what: figure`, in place of another figure of the same.
    pub fn put(&mut self, line: &str) {
        let Some((what, figure)) = line.split_once(": ") else {
            return;
        };
        self.all.retain(|(other, _)| other != what);
        self.all.push((what.to_owned(), figure.to_owned()));
        self.all.sort_by_key(|(what, _)| place(what));
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: &Lines) {
        others.to_string().lines().for_each(|line| self.put(line));
    }

    /// The figure of `what`.
    pub fn figure(&self, what: &str) -> Option<&str> {
        let (_, figure) = self.all.iter().find(|(other, _)| other == what)?;
        Some(figure)
    }

    /// Every line's subject and figure.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all
            .iter()
            .map(|(what, figure)| (what.as_str(), figure.as_str()))
    }

    /// What docs/speed.md says: the figures beside those of others, what they are made of (with the inner loops of
    /// the section `mca`), then all lines.
    pub fn section(&self, mca: &str) -> String {
        let mut text = bars::table(self);
        if let Some(table) = pieces::table(self, mca) {
            text = format!("{text}\n{table}");
        }
        format!("{text}\n```\n{self}```\n")
    }

    /// The bars that the figures miss, in words.
    pub fn misses(&self) -> Vec<String> {
        bars::misses(self)
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter()
            .try_for_each(|(what, figure)| writeln!(f, "{what}: {figure}"))
    }
}

/// Where a line stands: by kind, then by weight type, then by what follows, numbers by value.
fn place(what: &str) -> (usize, usize, String) {
    let mut words = what.split(' ');
    let mut rank = |names: &[&str]| {
        let word = words.next().unwrap_or_default();
        names
            .iter()
            .position(|name| *name == word)
            .map_or(0, |i| i + 1)
    };
    let (kind, weight_type) = (rank(&KINDS), rank(&TYPES));
    let rest = words.map(padded).collect::<Vec<_>>().join(" ");
    (kind, weight_type, rest)
}

/// `pos16` as `pos000016`.
fn padded(word: &str) -> String {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &word[letters.len()..];
    format!("{letters}{number:0>6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[&str]) -> Lines {
        let mut lines = Lines::default();
        all.iter().for_each(|line| lines.put(line));
        lines
    }

    #[test]
    fn the_decoded_tokens_come_last() {
        let lines = lines(&[
            "decode q4_1 pos16: 52.1 M",
            "decode q8_0 pos1024: 64.0 M",
            "decode q8_0 pos16: 45.4 M",
            "work q8_0 pos1024 core 0 of 1: 5 rows",
            "load q8_0: 0.8 G",
            "prefill q8_0 prompt128: 31.6 M per token",
        ]);
        assert_eq!(
            lines.to_string(),
            "load q8_0: 0.8 G\nprefill q8_0 prompt128: 31.6 M per token\nwork q8_0 pos1024 core 0 of 1: 5 rows\n\
             decode q8_0 pos16: 45.4 M\ndecode q8_0 pos1024: 64.0 M\ndecode q4_1 pos16: 52.1 M\n"
        );
    }

    #[test]
    fn a_run_replaces_its_own_lines_and_leaves_the_rest() {
        let old = lines(&["decode q8_0 pos16: 46.0 M", "decode f16 pos16: 90.0 M"]);
        let mut all = Lines::in_section(&old.section(""));
        assert_eq!(all.to_string(), old.to_string());
        all.extend(&lines(&["decode q8_0 pos16: 45.4 M"]));
        assert_eq!(all.figure("decode q8_0 pos16"), Some("45.4 M"));
        assert_eq!(all.figure("decode f16 pos16"), Some("90.0 M"));
        assert_eq!(all.iter().count(), 2);
    }
}
