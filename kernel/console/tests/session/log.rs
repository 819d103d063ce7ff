//! The details of the start-up: asked for, and printed at the start.

use crate::bench_board::{Board, Step};
use crate::{events, person};
use serde_json::json;

const DETAILS: &str = "board      a board (0x00b03115)\nentry      EL2\n";

fn shown(options: Option<&'static str>, lines: &'static [u8]) -> String {
    let mut board = Board::new(Vec::new(), vec![Step::Type(lines)]);
    board.options = options;
    board.details = DETAILS;
    board.play().0
}

#[test]
fn a_person_and_a_program_get_every_line() {
    let person = shown(None, b"/log\r");
    assert!(person.contains(&format!("> /log\n{DETAILS}> ")), "{person}");
    let program = events(&shown(None, b"{\"id\":1,\"op\":\"log\"}\n"));
    assert_eq!(
        program,
        [
            json!({"id": 1, "event": "log", "lines": ["board      a board (0x00b03115)", "entry      EL2"]}),
            json!({"id": 1, "event": "done"}),
        ]
    );
}

#[test]
fn the_setting_prints_them_before_anything_else() {
    for options in ["log = on", "log = on\nquiet = on"] {
        let start = shown(Some(options), b"");
        assert!(start.starts_with(DETAILS), "{options}: {start}");
    }
    let without = shown(Some("log = off"), b"");
    assert!(!without.contains(DETAILS), "{without}");
}

#[test]
fn where_nothing_is_known_it_says_so() {
    let text = person(b"/log\r");
    assert!(
        text.contains("nothing is known of the start-up here"),
        "{text}"
    );
}
