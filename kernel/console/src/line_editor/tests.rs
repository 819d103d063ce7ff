//! The editor against a simple model of a line, and its echo against a simple terminal.

use super::{Input, LineEditor, MAX_JSON_BYTES, MAX_LINE_BYTES};
use proptest::prelude::*;
use unicode_width::UnicodeWidthChar;

const COLUMNS: usize = 24;

/// A terminal of one row after another: printable text, `\b`, CR, LF, BEL. It never wraps on purpose:
/// text beyond its last column is an error of the editor while a line is being edited.
#[derive(Default)]
struct Terminal {
    rows: Vec<String>,
    row: Vec<char>,
    column: usize,
    widest: usize,
    partial: Vec<u8>,
}

impl Terminal {
    fn feed(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        let text = String::from_utf8(std::mem::take(&mut self.partial)).expect("the echo is UTF-8");
        for c in text.chars() {
            match c {
                '\x08' => {
                    self.column = self.column.checked_sub(1).expect("no step left of the row")
                }
                '\r' => self.column = 0,
                '\n' => self
                    .rows
                    .push(std::mem::take(&mut self.row).into_iter().collect()),
                '\x07' => {}
                c => {
                    let width = c.width().expect("only printable characters");
                    if width == 0 {
                        continue;
                    }
                    while self.row.len() < self.column + width {
                        self.row.push(' ');
                    }
                    self.row[self.column] = c;
                    if width == 2 {
                        self.row[self.column + 1] = '\0';
                    }
                    self.column += width;
                    self.widest = self.widest.max(self.column);
                }
            }
        }
    }

    fn shown(&self) -> String {
        self.row
            .iter()
            .filter(|&&c| c != '\0')
            .collect::<String>()
            .trim_end()
            .to_owned()
    }
}

fn editor() -> (LineEditor, Terminal) {
    let mut editor = LineEditor::new("> ", COLUMNS);
    let mut terminal = Terminal::default();
    let mut echo = Vec::new();
    editor.start(&mut echo);
    terminal.feed(&echo);
    (editor, terminal)
}

/// Types `bytes`; the inputs they complete and all of the echo.
fn type_into(editor: &mut LineEditor, bytes: &[u8]) -> (Vec<Input>, Vec<u8>) {
    let mut echo = Vec::new();
    let inputs = bytes
        .iter()
        .filter_map(|&byte| editor.push(byte, &mut echo))
        .collect();
    editor.refresh(&mut echo);
    (inputs, echo)
}

fn entered(bytes: &[u8]) -> Vec<Input> {
    type_into(&mut editor().0, bytes).0
}

fn line(text: &str) -> Input {
    Input::Line(text.to_owned())
}

#[test]
fn plain_typing_echoes_what_was_typed() {
    let (mut editor, _) = editor();
    let (inputs, echo) = type_into(&mut editor, b"hi there\r");
    assert_eq!(inputs, [line("hi there")]);
    assert_eq!(echo, b"hi there\r\n");
}

#[test]
fn every_line_end_gives_one_line() {
    assert_eq!(
        entered(b"a\rb\nc\r\nd\r"),
        [line("a"), line("b"), line("c"), line("d")]
    );
    assert_eq!(
        entered(b"{}\r\nx\r\n"),
        [Input::Json(b"{}".to_vec()), line("x")]
    );
}

#[test]
fn edits_in_the_middle() {
    assert_eq!(entered(b"held\x1b[D\x1b[D\x1b[Dx\x05!\r"), [line("hxeld!")]);
    assert_eq!(entered(b"one two three\x17\x17\x19\r"), [line("one two ")]);
    assert_eq!(
        entered(b"one two\x01\x1bf\x0b\x19\x19\r"),
        [line("one two two")]
    );
    assert_eq!(entered("日本語\x7f\x1b[Dx\r".as_bytes()), [line("日x本")]);
    assert_eq!(entered(b"abc\x01\x04\x1b[3~\r"), [line("c")]);
}

#[test]
fn history_gives_lines_back() {
    assert_eq!(
        entered(b"one\rtwo\rdra\x1b[A\x1b[A\x1b[B\x1b[Bft\r\x10\x10\r"),
        [line("one"), line("two"), line("draft"), line("two")]
    );
}

#[test]
fn control_c_and_control_d() {
    assert_eq!(entered(b"lost\x03kept\r"), [Input::Interrupt, line("kept")]);
    assert_eq!(entered(b"\x04"), [Input::EndOfInput]);
    assert_eq!(entered(b"x\x04\r"), [line("x")]);
}

#[test]
fn a_program_line_is_not_echoed_and_not_edited() {
    let (mut editor, _) = editor();
    let (inputs, echo) = type_into(&mut editor, b"{\"a\":\"\x7f\xC3\xA9\"}\n");
    assert_eq!(inputs, [Input::Json(b"{\"a\":\"\x7f\xC3\xA9\"}".to_vec())]);
    assert_eq!(echo, b"");
}

#[test]
fn a_leading_space_escapes() {
    assert_eq!(entered(b" {not json}\r"), [line(" {not json}")]);
}

#[test]
fn a_brace_typed_by_mistake_is_left_again() {
    assert_eq!(entered(b"{\x7fhi\r"), [line("hi")]);
    assert_eq!(entered(b"{oops\x15hi\r"), [line("hi")]);
    assert_eq!(entered(b"{oops\x03hi\r"), [Input::Interrupt, line("hi")]);
}

#[test]
fn overlong_lines_are_reported() {
    let mut bytes = vec![b'x'; MAX_LINE_BYTES + 7];
    bytes.extend_from_slice(b"\r\x10\x17ok\r");
    assert_eq!(
        entered(&bytes),
        [
            Input::Overlong {
                json: None,
                limit: MAX_LINE_BYTES,
                dropped: 7
            },
            line("ok")
        ],
        "the line can be had back and mended"
    );

    let mut bytes = vec![b'{'; MAX_JSON_BYTES + 3];
    bytes.extend_from_slice(b"\rok\r");
    assert_eq!(
        entered(&bytes),
        [
            Input::Overlong {
                json: Some(vec![b'{'; MAX_JSON_BYTES]),
                limit: MAX_JSON_BYTES,
                dropped: 3
            },
            line("ok")
        ]
    );
}

#[test]
fn bytes_that_are_not_utf8_are_reported_until_mended() {
    assert_eq!(
        entered(b"caf\xE9\r\x10\x7fe\r"),
        [
            Input::InvalidUtf8 {
                count: 1,
                first: 0xE9
            },
            line("cafe")
        ]
    );
    assert_eq!(entered(b"\xE9\x7fok\r"), [line("ok")]);
    assert_eq!(
        entered("\u{FFFD}\r".as_bytes()),
        [line("\u{FFFD}")],
        "typed on purpose"
    );
}

#[test]
fn pasted_lines_stay_one_line() {
    assert_eq!(
        entered(b"\x1b[200~a\r\n{b\r\n\x1b[201~\r"),
        [line("a\n{b\n")]
    );
}

#[test]
fn after_a_cut_paste_ctrl_c_makes_room_for_a_request() {
    assert_eq!(
        entered(b"\x1b[200~half of a text\x03{}\r\x1b[201~next\r"),
        [Input::Interrupt, Input::Json(b"{}".into()), line("next")]
    );
}

#[test]
fn a_scrolled_line_is_shown_whole_when_entered() {
    let (mut editor, mut terminal) = editor();
    let text = "a line that is quite a bit longer than the row";
    let (inputs, echo) = type_into(&mut editor, format!("{text}\r").as_bytes());
    terminal.feed(&echo);
    assert_eq!(inputs, [line(text)]);
    assert_eq!(terminal.rows, [format!("> {text}")]);
}

#[derive(Debug, Clone)]
enum Op {
    Text(String),
    Backspace,
    Delete,
    Left,
    Right,
    Home,
    End,
    KillToEnd,
    KillToStart,
    Draw,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => "[a-z 日é🦀]{1,6}".prop_map(Op::Text),
        2 => Just(Op::Backspace),
        1 => Just(Op::Delete),
        3 => Just(Op::Left),
        1 => Just(Op::Right),
        1 => Just(Op::Home),
        1 => Just(Op::End),
        1 => Just(Op::KillToEnd),
        1 => Just(Op::KillToStart),
        4 => Just(Op::Draw),
    ]
}

proptest! {
    #[test]
    fn line_and_row_are_those_of_the_model(ops in prop::collection::vec(op(), 0..60)) {
        let (mut editor, mut terminal) = editor();
        let mut model: Vec<char> = Vec::new();
        let mut at = 0;
        for op in ops {
            let bytes: &[u8] = match &op {
                Op::Text(text) => {
                    for c in text.chars() {
                        model.insert(at, c);
                        at += 1;
                    }
                    text.as_bytes()
                }
                Op::Backspace => {
                    if at > 0 {
                        at -= 1;
                        model.remove(at);
                    }
                    b"\x7f"
                }
                Op::Delete => {
                    if at < model.len() {
                        model.remove(at);
                    }
                    b"\x1b[3~"
                }
                Op::Left => {
                    at = at.saturating_sub(1);
                    b"\x1b[D"
                }
                Op::Right => {
                    at = (at + 1).min(model.len());
                    b"\x1b[C"
                }
                Op::Home => {
                    at = 0;
                    b"\x01"
                }
                Op::End => {
                    at = model.len();
                    b"\x05"
                }
                Op::KillToEnd => {
                    model.truncate(at);
                    b"\x0b"
                }
                Op::KillToStart => {
                    model.drain(..at);
                    at = 0;
                    b"\x15"
                }
                Op::Draw => b"",
            };
            let mut echo = Vec::new();
            for &byte in bytes {
                prop_assert_eq!(editor.push(byte, &mut echo), None);
            }
            if matches!(op, Op::Draw) {
                editor.refresh(&mut echo);
                terminal.feed(&echo);
                let text: String = model.iter().collect();
                let shown = terminal.shown();
                let shown = shown.strip_prefix('>').expect("the prompt stays").trim_start();
                prop_assert!(text.contains(shown), "{:?} shows {:?}", text, shown);
                let width = |chars: &[char]| chars.iter().map(|c| c.width().unwrap_or(0)).sum::<usize>();
                if width(&model) < COLUMNS - 2 {
                    prop_assert_eq!(shown, text.trim());
                    prop_assert_eq!(terminal.column, 2 + width(&model[..at]));
                } else {
                    let left: String = terminal.row[2..terminal.column].iter().filter(|&&c| c != '\0').collect();
                    let before: String = model[..at].iter().collect();
                    prop_assert!(before.ends_with(&left), "{:?} left of the cursor, {:?} on show", before, left);
                }
            } else {
                terminal.feed(&echo);
            }
            prop_assert!(terminal.widest < COLUMNS, "the row must not wrap");
        }
        let mut echo = Vec::new();
        let text: String = model.iter().collect();
        prop_assert_eq!(editor.push(b'\r', &mut echo), Some(Input::Line(text)));
    }

    #[test]
    fn any_bytes_are_taken_and_the_next_line_is_clean(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (mut editor, _) = editor();
        let (_, echo) = type_into(&mut editor, &bytes);
        prop_assert!(String::from_utf8(echo).is_ok());
        type_into(&mut editor, b"\x1b[201~\x03");
        prop_assert_eq!(type_into(&mut editor, b"clean\r").0, vec![line("clean")]);
    }
}
