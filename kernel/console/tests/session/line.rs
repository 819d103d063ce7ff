//! The serial line between a program and the console: how both know where they are, whatever was lost.

use crate::bench_board::{Board, Step};
use crate::{events, program, tiny};
use serde_json::{Value, json};

const CHAT: &[u8] =
    b"{\"id\":1,\"op\":\"complete\",\"prompt\":\"once upon a time\",\"ignore_eos\":true,\
    \"max_tokens\":30}\n";

fn line(value: &Value) -> &'static [u8] {
    format!("{value}\n").leak().as_bytes()
}

/// What ends requests, and what no request has asked for: `id event what`.
fn ends(events: &[Value]) -> Vec<String> {
    let is_end = |event: &&Value| {
        let name = event["event"].as_str().unwrap_or("");
        ["done", "error", "ready", "lost"].contains(&name)
    };
    let shown = |event: &Value| {
        let fields = ["finish_reason", "code", "aborted", "model"];
        let what = fields.iter().map(|field| &event[*field]);
        let what = what.filter(|what| !what.is_null()).map(Value::to_string);
        let words: Vec<String> = [event["id"].to_string(), event["event"].to_string()]
            .into_iter()
            .chain(what)
            .collect();
        words.join(" ").replace('"', "")
    };
    events.iter().filter(is_end).map(shown).collect()
}

#[test]
fn byte_3_makes_room_for_a_request_behind_anything() {
    for junk in [
        &b"abc"[..],
        b"\xff\xfe",
        b"\x1b",
        b"\x1b[",
        b"\x1b[200~half of a paste",
        b"{\"id\":1,\"op\":\"cha",
        b" ",
        b"\xe2\x82",
    ] {
        let sent = [junk, b"\x03{\"id\":2,\"op\":\"reset\"}\n"].concat();
        let events = program(vec![Step::Type(sent.leak())]);
        assert_eq!(
            ends(&events),
            ["null ready tiny.gguf", "2 done"],
            "{junk:?}"
        );
    }
}

#[test]
fn the_start_is_told_where_it_is_asked_for() {
    for (options, told) in [("quiet = on\nready = on", true), ("quiet = on", false)] {
        let steps = vec![Step::Type(b"{\"id\":1,\"op\":\"reset\"}\n")];
        let mut board = Board::new(vec![("tiny.gguf", tiny())], steps);
        board.options = Some(options);
        let ends = ends(&events(&board.play().0));
        let expected: &[&str] = match told {
            true => &["null ready tiny.gguf", "1 done"],
            false => &["1 done"],
        };
        assert_eq!(ends, expected);
    }
    let mut board = Board::new(Vec::new(), vec![Step::Type(b"\r")]);
    board.options = Some("quiet = on\nready = on");
    let told = events(&board.play().0);
    assert_eq!(told, [json!({"id": null, "event": "ready", "model": null})]);
}

#[test]
fn byte_3_ends_every_request_that_was_sent() {
    let events = program(vec![
        Step::Type(CHAT),
        Step::AtLook(
            20,
            b"{\"id\":2,\"op\":\"load\",\"name\":\"tiny\"}\n\
              {\"id\":\"c\",\"op\":\"reset\"}\r\n{oops}\n\x03",
        ),
        Step::Type(b"{\"id\":3,\"op\":\"reset\"}\n"),
    ]);
    assert_eq!(
        ends(&events),
        [
            "1 done abort",
            "2 error dropped",
            "c error dropped",
            "null error dropped",
            "null ready tiny.gguf",
            "3 done"
        ]
    );
}

#[test]
fn a_request_that_has_not_begun_ends_with_byte_3_too() {
    let sent = [CHAT, b"{\"id\":2,\"op\":\"reset\"}\n\x03"].concat();
    let events = program(vec![Step::Type(sent.leak())]);
    assert_eq!(
        ends(&events),
        ["1 error dropped", "2 error dropped", "null ready tiny.gguf"]
    );
}

#[test]
fn an_abort_has_a_name_and_an_answer_of_its_own() {
    let events = program(vec![
        Step::Type(CHAT),
        Step::AtLook(
            20,
            b"{\"id\":2,\"op\":\"reset\"}\n{\"id\":3,\"op\":\"reset\"}\n{\"id\":\"x\",\"op\":\"abort\",\"target\":9}\n\
              {\"id\":\"y\",\"op\":\"abort\",\"target\":2}\n{\"id\":\"z\",\"op\":\"abort\",\"target\":1}\n\
              {\"id\":\"w\",\"op\":\"abort\",\"target\":1}\n",
        ),
        Step::Type(b"{\"id\":\"v\",\"op\":\"abort\",\"target\":1}\n"),
    ]);
    assert_eq!(
        ends(&events),
        [
            "x done false",
            "2 error dropped",
            "y done true",
            "1 done abort",
            "z done true",
            "w done false",
            "3 done",
            "v done false"
        ]
    );
}

#[test]
fn info_is_answered_while_tokens_come_and_changes_none() {
    let alone = program(vec![Step::Type(CHAT)]);
    let events = program(vec![
        Step::Type(CHAT),
        Step::AtLook(20, b"{\"id\":2,\"op\":\"info\"}\n"),
    ]);
    assert_eq!(ends(&events), ["2 done", "1 done length"]);
    let info = events.iter().find(|event| event["event"] == "info");
    let used = info.expect("an answer")["model"]["context_used"].as_u64();
    assert!(used.is_some_and(|used| used > 4), "{used:?}");
    let tokens = |events: &[Value]| -> Vec<Value> {
        let tokens = events.iter().filter(|event| event["event"] == "token");
        tokens.cloned().collect()
    };
    assert_eq!(tokens(&events), tokens(&alone));
}

#[test]
fn a_load_hears_what_arrives_and_runs_to_its_end() {
    let events = program(vec![
        Step::Type(b"{\"id\":1,\"op\":\"load\",\"name\":\"tiny\"}\n"),
        Step::AtLook(
            3,
            b"{\"id\":2,\"op\":\"info\"}\n{\"id\":3,\"op\":\"abort\",\"target\":1}\n{\"id\":4,\"op\":\"reset\"}\n\x03",
        ),
    ]);
    assert_eq!(
        ends(&events),
        [
            "2 done",
            "3 done false",
            "4 error dropped",
            "1 done",
            "null ready tiny.gguf"
        ]
    );
    let info = events.iter().find(|event| event["event"] == "info");
    let model = &info.expect("an answer")["model"];
    assert!(model.is_null(), "the model before is gone: {model}");
}

#[test]
fn a_persons_answer_is_no_part_of_a_programs_line() {
    let steps = vec![
        Step::Type(b"/raw once upon a time\r"),
        Step::AtLook(40, b"{\"id\":2,\"op\":\"info\"}\n"),
    ];
    let (shown, _) = Board::new(vec![("tiny.gguf", tiny())], steps).play();
    let events = events(&shown);
    assert_eq!(events.len(), 2, "{shown}");
    assert_eq!(events[0]["event"], "info", "{shown}");
    assert!(shown.contains("answer tokens"), "{shown}");
}

/// Events of one step that take longer to be written than the room for received bytes lasts.
#[test]
fn nothing_is_lost_while_events_are_written() {
    let ids: Vec<u32> = (5..69).collect();
    let request = json!({
        "id": "logits", "op": "complete", "ids": ids, "max_tokens": 0, "logits_positions": "all", "top_logits": 3,
        "counts": true,
    });
    let mut board = Board::new(
        vec![("tiny.gguf", tiny())],
        vec![Step::Type(line(&request))],
    );
    board.options = Some("quiet = on");
    board.wire.room_bytes.set(1500);
    let n = 2500;
    let sent = (0..n).map(|id| format!("{{\"id\":{id},\"op\":\"reset\"}}\n"));
    let sent: String = sent.collect();
    board.wire.meanwhile.borrow_mut().extend(sent.bytes());
    let events = events(&board.play().0);
    let ends = ends(&events);
    assert!(!ends.iter().any(|end| end.contains("lost")));
    assert_eq!(ends.len(), n + 1);
}

#[test]
fn what_is_lost_is_told_in_a_line_of_programs_to_a_person_too() {
    for (line, words) in [
        (&b"{\"id\":1,\"op\":\"reset\"}\n"[..], false),
        (b"/reset\r", true),
    ] {
        let padding = "x".repeat(200);
        let steps = vec![
            Step::Type(line),
            Step::Type([padding.as_bytes(), b"\r"].concat().leak()),
        ];
        let board = Board::new(vec![("tiny.gguf", tiny())], steps);
        board.wire.room_bytes.set(150);
        let shown = board.play().0;
        let told = json!({"id": null, "event": "lost", "bytes": 51});
        assert_eq!(
            events(&shown)
                .iter()
                .filter(|event| **event == told)
                .count(),
            1,
            "{shown}"
        );
        assert_eq!(
            shown.contains("lost or damaged while received: 51 bytes"),
            words,
            "{shown}"
        );
    }
}

/// Each end of a change of speed is sent at the speed before, to a person and to a program.
#[test]
fn the_line_changes_its_speed_when_that_has_been_answered() {
    let steps = vec![
        Step::Type(b"{\"id\":1,\"op\":\"set\",\"key\":\"baud\",\"value\":921600}\n"),
        Step::Type(b"{\"id\":2,\"op\":\"set\",\"key\":\"baud\",\"value\":3000001}\n"),
        Step::Type(b"/set baud 115200\r"),
        Step::Type(b"/set top_k 9\r"),
    ];
    let mut board = Board::new(vec![("tiny.gguf", tiny())], steps);
    board.facts.max_baud = Some(3_000_000);
    board.options = Some("quiet = on");
    let (shown, _) = board.play();
    let first = shown
        .find("{\"id\":1,\"event\":\"done\"}\n")
        .expect("an end");
    let second = shown.find("going on at 115200 baud\n").expect("its words");
    let speeds = board.speeds.take();
    assert_eq!([speeds[0].0, speeds[1].0], [921_600, 115_200], "{speeds:?}");
    assert_eq!(speeds.len(), 2, "a speed is set once: {speeds:?}");
    assert!(
        speeds[0].1 > first && speeds[1].1 > second,
        "{speeds:?}: {shown}"
    );
    let error = "baud cannot be 3000001: the serial line runs at 3000000 at most";
    assert!(shown.contains(error), "{shown}");
}
