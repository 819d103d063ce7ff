//! Bytes to the lines of a program.

use ops::crc32c::extend;
use protocol::crc_line;
use protocol::event::Line;

/// The longest line that is kept: the ids of the longest text are shorter.
const MAX_LINE_BYTES: usize = 8 << 20;

/// How an event begins; in a JSON string its quotes would be escaped.
const START: &[u8] = br#"{"id":"#;

/// Cuts bytes into lines. Both CR and LF end one: either may have been lost.
#[derive(Debug, Default)]
pub struct LineReader {
    bytes: Vec<u8>,
    /// Bytes that hold no end of a line.
    n_scanned: usize,
}

impl LineReader {
    /// Takes bytes in.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() > MAX_LINE_BYTES {
            self.clear();
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line that is not empty, without its end.
    pub fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
            let Some(at) = self.bytes[self.n_scanned..].iter().position(is_end) else {
                self.n_scanned = self.bytes.len();
                return None;
            };
            let mut line: Vec<u8> = self.bytes.drain(..=self.n_scanned + at).collect();
            self.n_scanned = 0;
            line.pop();
            if !line.is_empty() {
                return Some(line);
            }
        }
    }

    /// Forgets what has come of a line.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.n_scanned = 0;
    }
}

/// What a line is.
#[derive(Debug, PartialEq)]
pub enum Heard {
    /// An event.
    Event(Box<Line<'static>>),
    /// Text for people.
    Text,
    /// An event that cannot be read.
    Unreadable(String),
}

/// Reads a line; one with a checksum only if that is right.
pub fn read(line: &[u8], has_crc: bool) -> Heard {
    let mut starts = (0..line.len()).filter(|&at| line[at..].starts_with(START));
    let start = match has_crc {
        // what stands before it has lost its end
        true => starts.next_back(),
        // a prompt may stand before it
        false => starts.next(),
    };
    let Some(start) = start else {
        return Heard::Text;
    };
    let unreadable = || Heard::Unreadable(String::from_utf8_lossy(&line[start..]).into_owned());
    let text = match (has_crc, crc_line::split(&line[start..])) {
        (true, Some((text, crc))) if extend(0, text) == crc => text,
        (true, _) => return unreadable(),
        (false, None) => &line[start..],
        (false, Some((text, _))) => text,
    };
    match serde_json::from_slice(text) {
        Ok(event) => Heard::Event(Box::new(event)),
        Err(_) => unreadable(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Heard, LineReader, read};
    use ops::crc32c::extend;
    use protocol::Id;

    fn with_crc(text: &str) -> String {
        format!("{text} #{:08x}", extend(0, text.as_bytes()))
    }

    #[test]
    fn lines_come_whole_in_any_pieces() {
        for n in 1..9 {
            let mut reader = LineReader::default();
            let mut lines = Vec::new();
            for piece in b"one\r\n\r\ntwo\rthree\nfour".chunks(n) {
                reader.push(piece);
                while let Some(line) = reader.next_line() {
                    lines.push(String::from_utf8(line).expect("text"));
                }
            }
            assert_eq!(lines, ["one", "two", "three"]);
        }
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let mut reader = LineReader::default();
        for _ in 0..20 {
            reader.push(&vec![b'x'; 1 << 20]);
        }
        assert!(reader.bytes.len() <= super::MAX_LINE_BYTES);
    }

    #[test]
    fn only_events_count_and_damaged_ones_are_seen() {
        let event = r#"{"id":7,"n":3,"event":"token","token":5,"text":"Hi"}"#;
        let whole = with_crc(event);
        let id = |heard| match heard {
            Heard::Event(line) => (line.id, line.n),
            other => panic!("{other:?}"),
        };
        let seven = (Id::Number(7), Some(3));
        assert_eq!(id(read(format!("> {event}").as_bytes(), false)), seven);
        assert_eq!(id(read(whole.as_bytes(), false)), seven);
        assert_eq!(id(read(whole.as_bytes(), true)), seven);
        // the end of the line before was lost
        let merged = format!("{}{whole}", &whole[..20]);
        assert_eq!(id(read(merged.as_bytes(), true)), seven);
        for text in ["Loading {1 of 2}", "PiLM"] {
            assert_eq!(read(text.as_bytes(), true), Heard::Text);
        }
        for damaged in [event, &whole.replace("Hi", "Ho"), &whole[..60]] {
            let heard = read(damaged.as_bytes(), true);
            assert_eq!(heard, Heard::Unreadable(damaged.to_owned()));
        }
        let unknown = r#"{"id":7,"event":"dance"}"#;
        assert_eq!(
            read(unknown.as_bytes(), false),
            Heard::Unreadable(unknown.to_owned())
        );
    }
}
