//! What is refused, and what is said of it.

use crate::bench_board::{Board, Step};
use crate::{events, person, program, tiny};
use serde_json::Value;

fn error_of(line: Vec<u8>) -> Value {
    let events = program(vec![Step::Type(line.leak())]);
    let [error] = events.as_slice() else {
        panic!("{events:?}")
    };
    error.clone()
}

#[test]
fn an_overlong_line_keeps_its_id() {
    let mut line = b"{\"id\":9,\"op\":\"tokenize\",\"text\":\"".to_vec();
    line.resize((256 << 10) + 1, b'x');
    line.push(b'\n');
    let error = error_of(line);
    assert_eq!(
        (&error["id"], &error["code"]),
        (&Value::from(9), &Value::from("overlong"))
    );
    let message = error["message"].as_str().expect("a message");
    assert!(message.starts_with("the line has 1 byte more"), "{message}");
}

#[test]
fn a_text_that_is_too_long_is_not_the_cards_fault() {
    let steps = vec![Step::Type(
        b"{\"id\":1,\"op\":\"ppl\",\"file\":\"long.txt\"}\n",
    )];
    let mut board = Board::new(vec![("tiny.gguf", tiny())], steps);
    board.options = Some("quiet = on");
    board.texts = vec![("long.txt", vec![b'a'; (2 << 20) + 1])];
    let events = events(&board.play().0);
    assert_eq!(events[0]["code"], "bad_file", "{events:?}");
}

#[test]
fn an_id_that_the_vocabulary_lacks_is_named() {
    let error = error_of(b"{\"op\":\"detokenize\",\"ids\":[1,70000]}\n".to_vec());
    assert_eq!(error["code"], "bad_value");
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.starts_with("token id 70000 does not exist: the vocabulary has "),
        "{message}"
    );
}

#[test]
fn an_empty_name_loads_nothing() {
    let error = error_of(b"{\"op\":\"load\",\"name\":\"\"}\n".to_vec());
    assert_eq!(error["code"], "bad_value");
}

#[test]
fn a_measurement_that_is_refused_is_not_announced() {
    let shown = person(b"/bench 0\r");
    assert!(!shown.contains("prompt tokens"), "{shown}");
    assert!(shown.contains("\"runs\" must be from 1 to 1000"), "{shown}");
}

#[test]
fn a_reset_is_no_help_for_the_first_question() {
    let shown = person(b"/set context 1\r/load 1\rhello\r");
    assert!(shown.contains("the context takes 1,"), "{shown}");
    assert!(!shown.contains("/reset"), "{shown}");
}

#[test]
fn a_context_that_was_made_shorter_is_said() {
    let steps = vec![Step::Type(b"/set stats off\r")];
    let mut board = Board::new(vec![("tiny.gguf", tiny())], steps);
    board.command_line = "pilm.columns=1000 pilm.context=999999999999";
    let shown = board.play().0;
    assert!(shown.contains(" and not 999999999999: "), "{shown}");
    assert!(!person(b"/set context 1\r/load 1\r").contains(" and not 1: "));
}

#[test]
fn a_model_that_cannot_think_is_said_to() {
    let note = "the loaded model has no switch for thinking";
    assert!(person(b"/set think on\r").contains(note));
    assert!(!person(b"/set think off\r").contains(note));
}
