//! A program at the UART: JSON lines in, JSON lines out.

use ops::GgmlType;
use pilm::synth::Shape;
use protocol::event::{Finish, Generated, Limits, Text, Tokens};
use protocol::request::{Complete, Detokenize, Positions, Sampling, Tokenize};
use protocol::scalar::Scalar;
use protocol::{Event, Id, Op};
use serde_json::Value;
use std::time::Duration;
use tests::boot::{assert_clean_log, boot};
use tests::card::{Card, MODEL};
use tests::requests::{self, complete, crc32c, event, events, ids, info, reset, tokens};
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
    let info = raw(&mut pi, br#"{"op":"info"}"#);
    assert!(info["version"].is_string(), "{info}");
    assert!(info["model"].to_string().contains(MODEL), "{info}");
    assert!(info["limits"].is_object(), "{info}");
    let info = requests::info(&mut pi);
    assert_eq!(info.model.unwrap().file, MODEL);
    assert_eq!(info.limits, Limits::THIS);
    assert_clean_log(&mut pi);
}

#[test]
fn text_becomes_ids_and_ids_text() {
    let (_card, mut pi) = start();
    let text = "Hello, wörld! 123";
    let tokenize = Tokenize {
        text: text.to_owned(),
        special: false,
    };
    let Event::Tokens(Tokens { count, ids }) = event(&mut pi, Op::Tokenize(tokenize)) else {
        panic!("no ids");
    };
    assert_eq!(count, ids.len());
    let back = event(&mut pi, Op::Detokenize(Detokenize { ids }));
    assert_eq!(back, Event::Text(Text { text: text.into() }));
}

#[test]
fn equal_seeds_give_equal_answers() {
    let (_card, mut pi) = start();
    let mut answer = |seed: u64| {
        let sampling = Sampling {
            temperature: Some(1.5),
            seed: Some(seed),
            ..tokens(12)
        };
        let (text, done) = complete(&mut pi, requests::text("One day"), sampling);
        assert_eq!(done.finish_reason, Some(Finish::Length));
        let generated = done.generated.unwrap();
        assert_eq!(generated.usage.completion_tokens, 12);
        assert!(generated.timing.emulated);
        text
    };
    let (first, other, again) = (answer(7), answer(8), answer(7));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn generation_leaves_the_heap_as_it_was() {
    let (_card, mut pi) = start();
    let (_, done) = complete(&mut pi, requests::text("One day"), tokens(200));
    let generated = done.generated.unwrap();
    assert_eq!(generated.usage.completion_tokens, 200);
    assert_eq!(generated.heap_growth_bytes, Some(0));
}

/// Ids and logits of an answer, and its numbers.
fn answer(
    pi: &mut Session,
    prompt: &Complete,
    sampling: &Sampling,
    speculate: bool,
) -> (Vec<Event<'static>>, Generated) {
    reset(pi);
    let sampling = Sampling {
        speculate: Some(Scalar::Bool(speculate)),
        ..sampling.clone()
    };
    let op = Op::Complete(prompt.clone(), sampling, crc32c(Positions::Last));
    let (events, done) = events(pi, op);
    (events, done.generated.unwrap())
}

#[test]
fn drafts_change_no_token_and_no_logit() {
    let (_card, mut pi) = start();
    let (mut n_drafted, mut n_accepted) = (0, 0);
    for n in 0..20u32 {
        // The last third repeats the first one.
        let prompt: Vec<u32> = (0..18 + n)
            .map(|i| 5 + (i % 12 * (i % 12) * 7 + n * 31) % 250)
            .collect();
        let prompt = ids(&prompt);
        let mut sampling = tokens(24);
        if n % 2 == 1 {
            sampling.temperature = Some(0.3);
            sampling.seed = Some(n.into());
            sampling.repeat_penalty = Some(0.7);
        }
        let (expected, plain) = answer(&mut pi, &prompt, &sampling, false);
        let (found, drafted) = answer(&mut pi, &prompt, &sampling, true);
        assert_eq!(found, expected, "{prompt:?} {sampling:?}");
        let logits = requests::checksums(&found);
        assert_eq!(logits.len(), 24, "one for each token");

        n_drafted += drafted.usage.draft_tokens;
        n_accepted += drafted.usage.accepted_tokens;
        let passes = 23 - drafted.usage.accepted_tokens;
        assert_eq!(drafted.timing.decode_passes, passes, "{drafted:?}");
        assert_eq!(plain.timing.decode_passes, 23, "{plain:?}");
        assert_eq!(plain.usage.drafts, 0, "{plain:?}");
        assert_eq!(drafted.heap_growth_bytes, Some(0), "{drafted:?}");
    }
    assert!(
        0 < n_accepted && n_accepted < n_drafted,
        "{n_accepted} of {n_drafted}"
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
    info(&mut pi);
}

#[test]
fn a_request_can_be_aborted() {
    let (_card, mut pi) = start();
    pi.qemu()
        .send_line(r#"{"id":"long","op":"complete","prompt":"x","ignore_eos":true}"#)
        .unwrap();
    pi.qemu().expect(r#""event":"token""#, REPLY).unwrap();
    pi.qemu()
        .send_line(r#"{"op":"abort","id":"long"}"#)
        .unwrap();
    let done = loop {
        let line = pi.event().unwrap();
        assert_eq!(line.id, Id::Text("long".to_owned()));
        if let Event::Done(done) = line.event {
            break done;
        }
    };
    assert_eq!(done.finish_reason, Some(Finish::Abort), "{done:?}");
    info(&mut pi);
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
        assert_eq!(info(&mut pi).settings.cores, Some(cores));
    }
}
