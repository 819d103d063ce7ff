//! Lines with checksums, on a good wire and on a bad one.

use super::bench_board::{Board, Step};
use super::{program, text_of, tiny};
use link::bad_wire::BadWire;
use ops::crc32c::extend;
use protocol::crc_line;
use serde_json::Value;

fn with_crc(text: &str) -> String {
    format!("{text} #{:08x}\n", extend(0, text.as_bytes()))
}

fn typed(text: impl Into<Vec<u8>>) -> Step {
    Step::Type(text.into().leak())
}

/// The events of all lines, and whether each had a right checksum behind it.
fn answers(steps: Vec<Step>) -> Vec<(Value, bool)> {
    let mut board = Board::new(vec![("tiny.gguf", tiny())], steps);
    board.options = Some("quiet = on");
    let shown = board.play().0;
    let lines = shown.lines().filter(|line| line.starts_with('{'));
    let answer = |line: &str| match crc_line::split(line.as_bytes()) {
        Some((text, crc)) => {
            assert_eq!(crc, extend(0, text), "{line}");
            (serde_json::from_slice(text).expect(line), true)
        }
        None => (serde_json::from_str(line).expect(line), false),
    };
    lines.map(answer).collect()
}

/// How each answer ends: its `id`, its `n`, and the code of its error.
fn ends(steps: Vec<Step>) -> Vec<String> {
    let answers = answers(steps);
    let ends = answers
        .iter()
        .filter(|(event, _)| event["event"] == "done" || event["event"] == "error");
    ends.map(|(event, has_crc)| {
        assert_eq!(event["n"].is_u64(), *has_crc, "{event}");
        format!("{} {} {}", event["id"], event["n"], event["code"])
    })
    .collect()
}

#[test]
fn the_answer_to_a_line_with_a_checksum_is_numbered_and_has_them_too() {
    let request = r#"{"id":1,"op":"complete","ids":[5,6],"max_tokens":20,"seed":1}"#;
    let answers = answers(vec![typed(with_crc(request)), typed(with_crc(request))]);
    assert!(answers.iter().all(|&(_, has_crc)| has_crc));
    let numbers: Vec<u64> = answers
        .iter()
        .filter_map(|(event, _)| event["n"].as_u64())
        .collect();
    let once: Vec<u64> = (0..numbers.len() as u64 / 2).collect();
    assert!(once.len() > 20, "{once:?}");
    assert_eq!(numbers, [once.clone(), once].concat());

    let plain = program(vec![typed(format!("{request}\n"))]);
    let events: Vec<Value> = answers.into_iter().map(|(event, _)| event).collect();
    assert_eq!(text_of(&events), text_of(&plain).repeat(2));
}

#[test]
fn a_wrong_checksum_runs_nothing() {
    let wrong = with_crc(r#"{"id":1,"op":"set","key":"seed","value":5}"#).replace(":5", ":6");
    let answers = answers(vec![typed(wrong), typed("{\"id\":2,\"op\":\"info\"}\n")]);
    let (error, has_crc) = &answers[0];
    assert_eq!(error["code"], "bad_crc", "{error}");
    assert_eq!(error["id"], Value::Null, "{error}");
    assert!(has_crc);
    let (info, has_crc) = &answers[1];
    assert_eq!(info["settings"]["seed"], Value::Null, "{info}");
    assert!(!has_crc, "no right checksum has come yet");
}

#[test]
fn after_one_line_with_a_checksum_all_need_one_until_reset() {
    let info = |id: u32| format!("{{\"id\":{id},\"op\":\"info\"}}\n");
    let whole = with_crc(r#"{"id":1,"op":"models"}"#);
    for reset in [
        "{\"id\":8,\"op\":\"reset\"}\n".to_owned(),
        with_crc(r#"{"id":8,"op":"reset"}"#),
        "/reset\n".to_owned(),
    ] {
        let steps = vec![
            typed(info(0)),
            typed(whole.clone()),
            typed(info(2)),
            // the first byte of a request was damaged; a blank line is none
            typed("k\"id\":3}\n\n"),
            typed(b"a\xE9\n"),
            typed("/set seed 1\n"),
            typed(whole.clone()),
            typed(reset.clone()),
            typed(info(9)),
        ];
        let found = ends(steps);
        let n = if reset.contains('#') { "0" } else { "null" };
        let mut expected = vec!["0 null null", "1 1 null"];
        expected.extend(["null 0 \"bad_crc\""; 4]);
        expected.push("1 1 null");
        let answered = format!("8 {n} null");
        if reset.starts_with('{') {
            expected.push(&answered);
        }
        expected.push("9 null null");
        assert_eq!(found, expected, "{reset}");
    }
}

#[test]
fn a_damaged_abort_stops_nothing() {
    let request =
        with_crc(r#"{"id":1,"op":"complete","ids":[5,6],"max_tokens":30,"ignore_eos":true}"#);
    let abort = with_crc(r#"{"id":1,"op":"abort"}"#);
    let finish = |abort: String| {
        let steps = vec![
            typed(request.clone()),
            Step::AtLook(5, abort.into_bytes().leak()),
        ];
        let answers = answers(steps);
        let mut reasons = answers.iter().map(|(event, _)| &event["finish_reason"]);
        let reason = reasons.find(|reason| reason.is_string());
        reason.cloned().unwrap_or_default()
    };
    assert_eq!(finish(abort.clone()), "abort");
    assert_eq!(finish(abort.replace("abort", "aborT")), "length");
    assert_eq!(finish("{\"id\":1,\"op\":\"abort\"}\n".into()), "length");
}

#[test]
fn an_overlong_line_among_lines_with_checksums_is_answered_with_one() {
    let overlong = format!("{{\"id\":1,\"x\":\"{}\"}}\n", "x".repeat(300_000));
    let steps = vec![typed(with_crc(r#"{"op":"models"}"#)), typed(overlong)];
    assert_eq!(ends(steps)[1], "1 0 \"overlong\"");
}

/// Settings over a bad wire, in pieces: what each line set, by the event that says so.
fn set_over_a_bad_wire(n_lines: u64, has_crc: bool) -> (Vec<u64>, u64) {
    let mut wire = BadWire::new(5, 300);
    let mut arrived = Vec::new();
    for n in 1..=n_lines {
        let text = format!(r#"{{"id":{n},"op":"set","key":"seed","value":{n}}}"#);
        let line = match has_crc {
            true => with_crc(&text),
            false => format!("{text}\n"),
        };
        match n {
            // what it sets up has to be whole
            1 => arrived.extend_from_slice(line.as_bytes()),
            _ => wire.carry(line.as_bytes(), &mut arrived),
        }
    }
    let mut steps = Vec::new();
    let mut rest = &arrived[..];
    while !rest.is_empty() {
        let n_bytes = 1 + wire.below(200) as usize;
        let (piece, after) = rest.split_at(n_bytes.min(rest.len()));
        steps.push(typed(piece));
        rest = after;
    }
    let mut board = Board::new(Vec::new(), steps);
    board.options = Some("quiet = on");
    let shown = board.play().0;
    let mut set = Vec::new();
    for line in shown
        .lines()
        .filter(|line| line.contains("\"event\":\"settings\""))
    {
        let text = crc_line::split(line.as_bytes()).map_or(line.as_bytes(), |(text, _)| text);
        let event: Value = serde_json::from_slice(text).expect(line);
        if has_crc {
            assert_eq!(event["id"], event["seed"], "{line}");
        }
        set.extend(event["seed"].as_u64());
    }
    (set, wire.n_faults())
}

#[test]
fn of_ten_thousand_lines_over_a_bad_wire_none_is_taken_for_another() {
    let (set, n_faults) = set_over_a_bad_wire(10_000, true);
    assert!(n_faults > 1_500, "{n_faults}");
    assert!((6_000..10_000).contains(&set.len()), "{} lines", set.len());
    assert!(set.is_sorted_by(|a, b| a < b));
}

#[test]
fn without_checksums_a_bad_wire_sets_wrong_values_and_nothing_worse() {
    let (set, _) = set_over_a_bad_wire(10_000, false);
    assert!((6_000..12_000).contains(&set.len()), "{} lines", set.len());
}
