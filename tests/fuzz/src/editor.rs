//! Any bytes as keys.
//!
//! The first byte is the terminal's width beyond 20 columns.

use console::line_editor::{MAX_JSON_BYTES, MAX_LINE_BYTES};
use console::{Input, LineEditor};
use unicode_width::UnicodeWidthChar;

const PROMPT: &str = "> ";

/// One row of a terminal.
struct Row {
    columns: usize,
    column: usize,
}

impl Row {
    /// Shows `echo`: whole characters, printable, inside the row.
    fn show(&mut self, echo: &[u8]) {
        let text = std::str::from_utf8(echo).expect("whole characters");
        for c in text.chars() {
            match c {
                '\x08' => {
                    self.column = self.column.checked_sub(1).expect("no step left of the row")
                }
                '\r' => self.column = 0,
                '\n' | '\x07' => {}
                c => {
                    assert!(!c.is_control(), "{c:?} steers the terminal");
                    self.column += c.width().unwrap_or(0);
                    assert!(self.column < self.columns, "beyond the row's end");
                }
            }
        }
    }
}

/// Whatever is typed, the terminal gets printable text inside its row, lines are text within their limits, programs'
/// lines come back as bytes without an echo, and how often the row is drawn changes nothing but the drawing.
pub fn check(data: &[u8]) {
    let Some((&width, keys)) = data.split_first() else {
        return;
    };
    let columns = 20 + usize::from(width);
    let mut seldom = LineEditor::new(PROMPT, columns);
    let mut often = LineEditor::new(PROMPT, columns);
    let mut row = Row { columns, column: 0 };
    let mut unseen = Vec::new();
    let mut echo = Vec::new();
    seldom.start(&mut unseen);
    often.start(&mut echo);
    row.show(&echo);
    for &key in keys {
        echo.clear();
        let input = often.push(key, &mut echo);
        assert_eq!(seldom.push(key, &mut unseen), input);
        match input {
            // A line that is longer than the row has been shown whole, wrapped by the terminal.
            Some(input) => {
                check_input(&input);
                assert!(std::str::from_utf8(&echo).is_ok());
                row.column = 0;
                echo.clear();
                often.start(&mut echo);
                unseen.clear();
                seldom.start(&mut unseen);
            }
            None => often.refresh(&mut echo),
        }
        row.show(&echo);
    }
    let mut rest = Vec::new();
    let input = often.finish(&mut rest);
    assert_eq!(seldom.finish(&mut unseen), input);
    if let Some(input) = input {
        check_input(&input);
    }
    assert!(often.is_empty() && often.finish(&mut rest).is_none());
}

fn check_input(input: &Input) {
    match input {
        Input::Line(line) => assert!(line.len() <= MAX_LINE_BYTES),
        Input::Json(line) => assert!(line.starts_with(b"{") && line.len() <= MAX_JSON_BYTES),
        Input::Interrupt | Input::EndOfInput => {}
        Input::Overlong {
            json,
            limit,
            dropped,
        } => {
            assert!(*dropped > 0 && [MAX_LINE_BYTES, MAX_JSON_BYTES].contains(limit));
            assert!(json.as_ref().is_none_or(|line| line.starts_with(b"{")));
        }
        Input::InvalidUtf8 { count, first } => assert!(*count > 0 && *first >= 0x80),
    }
}

/// The seeds, by name.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let typed = |name, keys: &[u8]| (name, [&[60], keys].concat());
    vec![
        typed("lines", b"hi there\ragain\r\n\n"),
        typed(
            "edits",
            b"one two three\x17\x17\x19\x01x\x05!\x1b[D\x1b[3~\x1bb\x1bf\x0b\r",
        ),
        typed("history", b"one\rtwo\r\x1b[A\x1b[A\x1b[B\x1b[B\x1b[A\r"),
        typed(
            "wide",
            "日本語\u{85} e\u{301}\u{1F600}\x7f\x1b[D\x1b[Dx\r".as_bytes(),
        ),
        typed("narrow", &[b'w'; 200]),
        typed("program", b"{\"op\":\"info\"}\r\n{\x7f{abc\x15{\x03x\r"),
        typed("paste", b"\x1b[200~two\nlines\x1b[201~\r"),
        typed("no-utf8", b"a\xFF\xC3(\xE6\x97\r"),
        typed("interrupts", b"abc\x03\x04\x0c\x04"),
    ]
}
