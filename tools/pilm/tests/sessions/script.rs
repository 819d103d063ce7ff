//! A recorded session as text: what is typed, each time followed by what came back.
//!
//! | line | meaning |
//! |---|---|
//! | `< TEXT` | types TEXT and Enter |
//! | `<@N TEXT` | types TEXT, without Enter, at the N-th look for input; `\xNN` is a byte |
//! | `<*N TEXT` | types TEXT N times and Enter |
//! | `  TEXT` | came back |
//! | `# TEXT` | a comment |

use crate::mask::masked;

/// One thing that is typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    line: String,
    /// The look for input at which it is typed; none is when the session waits.
    pub at_look: Option<usize>,
    count: usize,
    text: String,
}

impl Step {
    fn read(line: &str) -> Option<Self> {
        let (how, text) = line.strip_prefix('<')?.split_once(' ')?;
        let number = |digits: &str| digits.parse().expect(line);
        let repeat = how.strip_prefix('*').map(number);
        Some(Self {
            line: line.to_owned(),
            at_look: how.strip_prefix('@').map(number),
            count: repeat.unwrap_or(1),
            text: text.to_owned(),
        })
    }

    /// The bytes on the serial line.
    pub fn bytes(&self) -> Vec<u8> {
        let mut pieces = self.text.split("\\x");
        let mut bytes = pieces.next().unwrap_or("").as_bytes().to_vec();
        for piece in pieces {
            let (digits, rest) = piece.split_at(2);
            bytes.push(u8::from_str_radix(digits, 16).expect(&self.line));
            bytes.extend_from_slice(rest.as_bytes());
        }
        let mut bytes = bytes.repeat(self.count);
        if self.at_look.is_none() {
            bytes.push(b'\r');
        }
        bytes
    }
}

/// All steps of a script.
pub fn steps(script: &str) -> Vec<Step> {
    script.lines().filter_map(Step::read).collect()
}

/// `script` with `shown`, what came back before the first step and after each, in place of what it holds.
pub fn record(script: &str, shown: &[String]) -> String {
    let mut shown = shown.iter();
    let mut out = String::new();
    for line in script.lines().filter(|line| line.starts_with('#')) {
        out += &format!("{line}\n");
    }
    write_shown(&mut out, shown.next());
    for step in steps(script) {
        out += &format!("{}\n", step.line);
        write_shown(&mut out, shown.next());
    }
    out
}

fn write_shown(out: &mut String, shown: Option<&String>) {
    let shown = shown.map_or("< never typed", String::as_str);
    for line in shown.replace("\r\n", "\n").lines() {
        let line = shortened(&masked(line));
        out.push_str("  ");
        for c in line.chars() {
            match c.is_control() {
                true => out.extend(c.escape_default()),
                false => out.push(c),
            }
        }
        out.push('\n');
    }
}

/// A line of more than 20000 bytes is the echo of an overlong one: its beginning and its length.
fn shortened(line: &str) -> String {
    match line.len() {
        0..=20000 => line.to_owned(),
        n => {
            let start: String = line.chars().take(40).collect();
            format!("{start}... ({n} bytes)")
        }
    }
}
