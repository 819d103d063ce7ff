//! More than the serial line keeps, and as much as it keeps while a model loads.

use ops::GgmlType;
use pilm::synth::Shape;
use protocol::event::Limits;
use serde_json::Value;
use std::time::Duration;
use tests::boot::{assert_clean_log, machine, session};
use tests::card::{Card, MODEL};
use xtask::session::{PROMPT, Session};

const REPLY: Duration = Duration::from_secs(120);
/// Longer than an answer's text may be, as texts are that people paste.
const PASTE_BYTES: usize = 57_000;

/// Several chunks.
fn shape() -> Shape {
    Shape {
        dim: 256,
        hidden_dim: 768,
        n_layers: 4,
        ..Shape::llama_wide()
    }
}

fn event(pi: &mut Session) -> Value {
    loop {
        let line = pi.qemu().line(REPLY).unwrap();
        if line.starts_with('{') {
            return serde_json::from_str(&line).unwrap();
        }
    }
}

/// The next event named `name`.
fn next(pi: &mut Session, name: &str) -> Value {
    loop {
        let event = event(pi);
        if event["event"] == name {
            return event;
        }
    }
}

#[test]
fn what_is_too_much_is_told_and_a_paste_during_a_load_is_kept() {
    let card = Card::with_model(&shape(), GgmlType::F16);
    let mut pi = session(&machine(&card).append("pilm.quiet=on pilm.ready=on"));

    // `info` behind the paste is answered before the load has ended, or it would know the model
    let mut sent = format!("{{\"op\":\"load\",\"name\":\"{MODEL}\"}}\n");
    let text = "pasted line of a text\n".repeat(PASTE_BYTES / 22 + 1);
    sent += &format!("\x1b[200~{}\x1b[201~\r", &text[..PASTE_BYTES]);
    sent += "{\"id\":\"i\",\"op\":\"info\"}\n";
    pi.qemu().send(sent.as_bytes()).unwrap();
    let info = next(&mut pi, "info");
    assert!(info["model"].is_null(), "the load had ended: {info}");
    let more = PASTE_BYTES - Limits::THIS.line_bytes;
    let said = pi
        .qemu()
        .expect("nothing was sent. The up key", REPLY)
        .unwrap();
    let told = format!(
        "the line has {more} bytes more than the {} ",
        Limits::THIS.line_bytes
    );
    assert!(said.contains(&told), "{said}");
    assert!(!said.contains("\"lost\""), "{said}");
    pi.qemu().expect(PROMPT, REPLY).unwrap();

    // the third request does not fit behind an answer
    pi.qemu()
        .send_line(
            r#"{"id":"chat","op":"complete","prompt":"a","ignore_eos":true,"max_tokens":400}"#,
        )
        .unwrap();
    next(&mut pi, "token");
    let pad = "x".repeat(Limits::THIS.queue_bytes / 2 - 100);
    let lines: String = (1..=3)
        .map(|id| format!("{{\"id\":{id},\"op\":\"reset\",\"pad\":\"{pad}\"}}\n"))
        .collect();
    pi.qemu().send(lines.as_bytes()).unwrap();
    let lost = next(&mut pi, "lost");
    let bytes = lost["bytes"].as_u64().unwrap() as usize;
    assert!((1..=pad.len() + 50).contains(&bytes), "{lost}");
    // whatever the gap has done, byte 3 is a way in
    pi.qemu()
        .send(b"\x03{\"id\":4,\"op\":\"reset\"}\n")
        .unwrap();
    next(&mut pi, "ready");
    let end = next(&mut pi, "done");
    assert_eq!(end["id"], 4, "{end}");
    assert_clean_log(&mut pi);
}
