//! A program at the UART: JSON lines in, JSON lines out.

use ops::GgmlType;
use pilm::synth::Shape;
use serde_json::{Value, json};
use std::time::Duration;
use tests::boot::{assert_clean_log, boot};
use tests::card::{Card, MODEL};
use tests::requests::events;
use xtask::session::Session;

const REPLY: Duration = Duration::from_secs(60);

fn start() -> (Card, Session) {
    let card = Card::with_model(&Shape::llama_grouped(), GgmlType::Q8_0);
    let pi = boot(&card);
    (card, pi)
}

/// Sends a line as it is; the next event.
fn raw(pi: &mut Session, line: &[u8]) -> Value {
    pi.qemu().send(line).unwrap();
    pi.qemu().send(b"\n").unwrap();
    loop {
        let line = pi.qemu().line(REPLY).unwrap();
        if let Some(at) = line.find("{\"") {
            return serde_json::from_str(&line[at..]).unwrap();
        }
    }
}

#[test]
fn info_names_model_and_limits() {
    let (_card, mut pi) = start();
    let events = events(&mut pi, json!({"op": "info"}));
    let info = events.iter().find(|e| e["event"] == "info").unwrap();
    assert!(info["version"].is_string(), "{info}");
    assert!(info["model"].to_string().contains(MODEL), "{info}");
    assert!(info["limits"].is_object(), "{info}");
    assert_clean_log(&mut pi);
}

#[test]
fn text_becomes_ids_and_ids_text() {
    let (_card, mut pi) = start();
    let text = "Hello, wörld! 123";
    let tokens = events(&mut pi, json!({"op": "tokenize", "text": text}));
    let ids = tokens[0]["ids"].clone();
    assert_eq!(tokens[0]["count"], ids.as_array().unwrap().len());
    let back = events(&mut pi, json!({"op": "detokenize", "ids": ids}));
    assert_eq!(back[0]["text"], text);
}

#[test]
fn equal_seeds_give_equal_answers() {
    let (_card, mut pi) = start();
    let mut answer = |seed: u64| {
        let request = json!({"prompt": "One day", "max_tokens": 12, "temperature": 1.5,
            "seed": seed, "ignore_eos": true});
        let (text, done) = pi
            .complete(request)
            .unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!(done["finish_reason"], "length");
        assert_eq!(done["usage"]["completion_tokens"], 12);
        assert_eq!(done["timing"]["emulated"], true);
        text
    };
    let (first, other, again) = (answer(7), answer(8), answer(7));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn generation_leaves_the_heap_as_it_was() {
    let (_card, mut pi) = start();
    let request = json!({"prompt": "One day", "max_tokens": 200, "ignore_eos": true});
    let (_, done) = pi
        .complete(request)
        .unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(done["usage"]["completion_tokens"], 200);
    assert_eq!(done["heap_growth_bytes"], 0);
}

/// Ids and logits of an answer, and what `done` says.
fn answer(pi: &mut Session, request: &Value, guess: bool) -> (Vec<Value>, Value) {
    events(pi, json!({"op": "reset"}));
    let mut request = request.clone();
    request["speculate"] = json!(guess);
    let mut events = events(pi, request);
    let done = events.pop().unwrap();
    events.iter_mut().for_each(|event| event["id"] = json!(0));
    (events, done)
}

#[test]
fn guesses_change_no_token_and_no_logit() {
    let (_card, mut pi) = start();
    let (mut n_guessed, mut n_confirmed) = (0, 0);
    for n in 0..20u32 {
        // The last third repeats the first one.
        let ids: Vec<u32> = (0..18 + n)
            .map(|i| 5 + (i % 12 * (i % 12) * 7 + n * 31) % 250)
            .collect();
        let mut request = json!({"op": "complete", "ids": ids, "max_tokens": 24, "ignore_eos": true,
            "logits_crc32c": true});
        if n % 2 == 1 {
            request["temperature"] = json!(0.3);
            request["seed"] = json!(n);
            request["repeat_penalty"] = json!(0.7);
        }
        let (expected, plain) = answer(&mut pi, &request, false);
        let (found, guessed) = answer(&mut pi, &request, true);
        assert_eq!(found, expected, "{request}");
        let logits = found.iter().filter(|event| event["event"] == "logits");
        assert_eq!(logits.count(), 24, "one for each token");

        let number = |part: &str, field: &str| guessed[part][field].as_u64().unwrap();
        n_guessed += number("usage", "draft_tokens");
        n_confirmed += number("usage", "accepted_tokens");
        let passes = 23 - number("usage", "accepted_tokens");
        assert_eq!(number("timing", "decode_passes"), passes, "{guessed}");
        assert_eq!(plain["timing"]["decode_passes"], 23, "{plain}");
        assert_eq!(plain["usage"]["drafts"], 0, "{plain}");
        assert_eq!(guessed["heap_growth_bytes"], 0, "{guessed}");
    }
    assert!(
        0 < n_confirmed && n_confirmed < n_guessed,
        "{n_confirmed} of {n_guessed}"
    );
    assert_clean_log(&mut pi);
}

#[test]
fn bad_lines_get_an_error_with_the_reason() {
    let (_card, mut pi) = start();
    let cases: [(&[u8], &str); 6] = [
        (b"{", "bad_json"),
        (b"{\"op\":\"dance\",\"id\":1}", "unknown_op"),
        (b"{\"id\":2}", "missing_field"),
        (b"{\"op\":\"complete\",\"id\":3}", "missing_field"),
        (b"{\"op\":\"info\",\"tokens\":5,\"id\":4}", "unknown_field"),
        (b"{\"op\":\"info\",\"x\":\"\xFF\"}", "bad_utf8"),
    ];
    for (line, code) in cases {
        let event = raw(&mut pi, line);
        assert_eq!(event["event"], "error", "{event}");
        assert_eq!(event["code"], code, "{event}");
        assert!(!event["message"].as_str().unwrap().is_empty(), "{event}");
    }
    events(&mut pi, json!({"op": "info"}));
}

#[test]
fn a_request_can_be_aborted() {
    let (_card, mut pi) = start();
    pi.qemu()
        .send_line(r#"{"id":"long","op":"complete","prompt":"x","ignore_eos":true}"#)
        .unwrap();
    pi.qemu().expect(r#""event":"token""#, REPLY).unwrap();
    let done = raw_until_done(&mut pi, br#"{"op":"abort","id":"long"}"#);
    assert_eq!(done["finish_reason"], "abort", "{done}");
    events(&mut pi, json!({"op": "info"}));
}

fn raw_until_done(pi: &mut Session, line: &[u8]) -> Value {
    let mut event = raw(pi, line);
    while event["event"] != "done" {
        let line = pi.qemu().line(REPLY).unwrap();
        if let Some(at) = line.find("{\"") {
            event = serde_json::from_str(&line[at..]).unwrap();
        }
    }
    event
}

#[test]
fn the_cores_that_are_asked_for_compute() {
    let (card, _) = (
        Card::with_model(&Shape::llama_grouped(), GgmlType::Q8_0),
        (),
    );
    for cores in [1, 3] {
        let machine = tests::boot::machine(&card).append(&format!("pilm.cores={cores}"));
        let mut pi = tests::boot::session(&machine);
        let events = events(&mut pi, json!({"op": "info"}));
        assert_eq!(events[0]["settings"]["cores"], cores, "{}", events[0]);
    }
}
