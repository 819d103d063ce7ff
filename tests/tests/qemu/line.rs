//! The serial line under a program that sends more than it waits for, and under a person whose cable was pulled.

use ops::GgmlType;
use pilm::synth::Shape;
use serde_json::Value;
use std::time::Duration;
use tests::boot::{assert_clean_log, machine, session};
use tests::card::Card;
use xtask::session::Session;

const REPLY: Duration = Duration::from_secs(120);

const CHAT: &str =
    r#"{"id":"chat","op":"complete","prompt":"a","ignore_eos":true,"max_tokens":100}"#;

/// A session whose start tells programs only; `words` on the kernel command line.
fn start(words: &str) -> (Card, Session) {
    let card = Card::with_model(&Shape::llama_tied(), GgmlType::Q8_0);
    let pi = session(&machine(&card).append(&format!("pilm.quiet=on pilm.ready=on {words}")));
    (card, pi)
}

fn event(pi: &mut Session) -> Value {
    loop {
        let line = pi.qemu().line(REPLY).unwrap();
        if line.starts_with('{') {
            return serde_json::from_str(&line).unwrap();
        }
    }
}

/// The events up to the one named `name`.
fn until(pi: &mut Session, name: &str) -> Vec<Value> {
    let mut events = vec![event(pi)];
    while events[events.len() - 1]["event"] != name {
        events.push(event(pi));
    }
    events
}

#[test]
fn byte_3_and_the_event_ready_are_a_way_in() {
    let (_card, mut pi) = start("");
    assert!(
        pi.boot_text().contains(r#""event":"ready""#),
        "{}",
        pi.boot_text()
    );
    for junk in [
        &b"half a question"[..],
        b"\x1b[200~a paste whose end is lost\r\n",
        b"{\"id\":1,\"op\":\"ch",
    ] {
        pi.qemu().send(junk).unwrap();
        pi.qemu().send(b"\x03").unwrap();
        pi.qemu().send_line(r#"{"id":2,"op":"reset"}"#).unwrap();
        let events = until(&mut pi, "done");
        let names: Vec<&Value> = events.iter().map(|event| &event["event"]).collect();
        assert_eq!(names, ["ready", "done"], "{events:?}");
    }
    assert_clean_log(&mut pi);
}

/// More than three times what the firmware kept before, all behind an answer.
#[test]
fn early_requests_are_kept_and_each_has_an_end() {
    let (_card, mut pi) = start("");
    let n = 2000;
    let mut lines = format!("{CHAT}\n");
    (0..n).for_each(|id| lines += &format!("{{\"id\":{id},\"op\":\"reset\"}}\n"));
    pi.qemu().send(lines.as_bytes()).unwrap();
    let mut ends = Vec::new();
    while ends.len() <= n {
        let event = event(&mut pi);
        match event["event"].as_str() {
            Some("done") => ends.push(event["id"].clone()),
            Some("token") => {}
            _ => panic!("{event}"),
        }
    }
    let expected = (0..n).map(Value::from);
    assert!(
        ends.into_iter()
            .eq([Value::from("chat")].into_iter().chain(expected))
    );
    assert_clean_log(&mut pi);
}

#[test]
fn info_and_abort_do_not_wait_for_what_runs() {
    for words in ["", "board.fail=interrupts"] {
        let (_card, mut pi) = start(words);
        pi.qemu().send_line(CHAT).unwrap();
        event(&mut pi);
        pi.qemu().send_line(r#"{"id":"i","op":"info"}"#).unwrap();
        let events = until(&mut pi, "done");
        let end = &events[events.len() - 1];
        assert_eq!(end["id"], "i", "{words}: before the answer's end: {end}");
        pi.qemu()
            .send_line(r#"{"id":"x","op":"abort","target":"chat"}"#)
            .unwrap();
        let chat = until(&mut pi, "done");
        let done = &chat[chat.len() - 1];
        assert_eq!(done["finish_reason"], "abort", "{words}");
        assert_eq!(done["heap_growth_bytes"], 0, "{words}: {done}");
        let end = event(&mut pi);
        assert_eq!((&end["id"], &end["aborted"]), (&"x".into(), &true.into()));
        assert_clean_log(&mut pi);
    }
}
