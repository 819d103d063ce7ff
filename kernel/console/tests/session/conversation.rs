//! A person's conversation with one model.

use crate::bench_board::{Board, Step};
use crate::{person, program, text_of, tiny};

#[test]
fn a_person_asks_twice_and_the_context_is_kept() {
    let shown = person(b"/set max_tokens 6\rhello\rand then\r/info\r");
    assert!(shown.contains("PiLM 0.0.0 (test)"), "{shown}");
    assert!(shown.contains("model   tiny.gguf: llama"), "{shown}");
    let status: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("answer tokens"))
        .collect();
    assert_eq!(status.len(), 2, "{shown}");
    assert!(
        !status[0].contains("kept") && status[1].contains("kept)"),
        "{status:?}"
    );
    assert!(shown.contains("tok/s"), "a board has speeds");
    assert!(shown.contains("ChatML"), "{shown}");
}

#[test]
fn a_conversation_is_the_same_as_its_history_sent_at_once() {
    // The second question with the first answer in view, from a person and from a program.
    let shown = person(b"/set temperature 0\r/set max_tokens 8\r/set stats off\rone two\rthree\r");
    let answers: Vec<&str> = shown
        .split("\n> ")
        .skip(4)
        .map(|part| part.split_once('\n').unwrap_or(("", "")).1)
        .collect();
    let first = answers[0].trim_end_matches('\n').to_owned();
    let second = answers[1].trim_end_matches('\n').to_owned();
    let request = serde_json::json!({"op": "chat", "id": 1, "max_tokens": 8, "messages": [
        {"role": "user", "content": "one two"},
        {"role": "assistant", "content": first},
        {"role": "user", "content": "three"},
    ]});
    let line: &'static [u8] = Box::leak(format!("{request}\r").into_boxed_str()).as_bytes();
    let events = program(vec![Step::Type(line)]);
    assert_eq!(text_of(&events), second);
}

#[test]
fn ctrl_c_stops_an_answer_and_the_next_question_works() {
    let steps = vec![
        Step::Type(b"/set columns 1000\r/set ignored 1\r/raw once upon a time\r"),
        Step::AtLook(12, b"\x03"),
        Step::Type(b"/set max_tokens 3\r/raw again\r"),
    ];
    let (shown, _) = Board::new(vec![("tiny.gguf", tiny())], steps).play();
    assert!(shown.contains("[stopped | "), "{shown}");
    assert!(shown.contains("[cut at max_tokens | "), "{shown}");
}

#[test]
fn what_is_typed_during_an_answer_is_answered_next() {
    let steps = vec![
        Step::Type(b"/set max_tokens 20\r/raw abc\r"),
        Step::AtLook(5, b"/system\r"),
    ];
    let (shown, _) = Board::new(vec![("tiny.gguf", tiny())], steps).play();
    let answer_end = shown.find("answer tokens").expect("a status line");
    let system = shown.rfind("> /system").expect("the line is shown");
    assert!(
        answer_end < system,
        "typed ahead does not mix with the answer:\n{shown}"
    );
}

#[test]
fn a_full_context_is_said_and_reset_helps() {
    let shown = person(b"/set context 40\r/load tiny\r/raw once upon a time there was a\rhello\r/set max_tokens 2\r/reset\r/raw a\r");
    assert!(shown.contains("context 40 in f16"), "{shown}");
    assert!(shown.contains("[cut: the context is full"), "{shown}");
    assert!(shown.contains("/reset starts a new"), "{shown}");
    assert!(shown.contains("[cut at max_tokens"), "{shown}");
}
