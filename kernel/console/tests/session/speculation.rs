//! Speculation changes how many passes an answer takes, and nothing else.

use crate::bench_board::{Board, Step};
use crate::{events, tiny};
use serde_json::{Value, json};

/// The line of a request, for a script.
fn line(request: &Value) -> &'static [u8] {
    Box::leak(format!("{request}\n").into_boxed_str()).as_bytes()
}

fn play(model: Vec<u8>, options: &'static str, steps: Vec<Step>) -> Vec<Value> {
    let mut board = Board::new(vec![("tiny.gguf", model)], steps);
    board.options = Some(options);
    events(&board.play().0)
}

/// The events of `requests`, each from an empty context, and the same requests with drafts.
fn off_and_on(model: &[u8], options: &'static str, requests: &[Value]) -> [Vec<Value>; 2] {
    [json!(false), json!(true)].map(|speculate| {
        let mut steps = Vec::new();
        for request in requests {
            let mut request = request.clone();
            request["speculate"] = speculate.clone();
            steps.push(Step::Type(b"{\"op\":\"reset\"}\n"));
            steps.push(Step::Type(line(&request)));
        }
        play(model.to_vec(), options, steps)
    })
}

/// What must not depend on speculation: all but times, and the count of passes and drafts.
fn essence(events: &[Value]) -> Vec<Value> {
    let mut events = events.to_vec();
    for event in &mut events {
        let Some(event) = event.as_object_mut() else {
            continue;
        };
        if let Some(timing) = event.get_mut("timing") {
            *timing = timing["decode_steps"].take();
        }
        if let Some(usage) = event.get_mut("usage").and_then(Value::as_object_mut) {
            for field in ["drafts", "draft_tokens", "accepted_tokens"] {
                usage.remove(field).expect("it is always reported");
            }
        }
    }
    events
}

fn sum(events: &[Value], part: &str, field: &str) -> u64 {
    events
        .iter()
        .filter_map(|event| event[part][field].as_u64())
        .sum()
}

fn tokens(events: &[Value]) -> Vec<u64> {
    events
        .iter()
        .filter_map(|event| event["token"].as_u64())
        .collect()
}

/// Ids whose second half repeats the first for even `n`.
fn prompt(n: usize) -> Vec<usize> {
    let period = if n.is_multiple_of(2) { 6 + n / 2 } else { 1000 };
    (0..12 + n)
        .map(|i| 3 + (i % period * (i % period) * 7 + n * 31) % 250)
        .collect()
}

/// 20 prompts, and how tokens are chosen.
fn requests(sampling: &Value) -> Vec<Value> {
    (0..20)
        .map(|n| {
            let mut request = json!({"op": "complete", "id": n, "ids": prompt(n), "max_tokens": 40,
                "ignore_eos": true, "logits_crc32c": true, "top_logits": 2});
            for (name, value) in sampling.as_object().expect("fields") {
                request[name] = value.clone();
            }
            request
        })
        .collect()
}

#[test]
fn every_event_is_the_same_on_and_off() {
    for sampling in [
        json!({"temperature": 0}),
        json!({"temperature": 0, "logits_positions": "all"}),
        json!({"temperature": 0.4, "seed": 11}),
        json!({"temperature": 0.7, "seed": 5, "top_k": 0, "top_p": 1, "min_p": 0, "repeat_penalty": 1.05}),
    ] {
        let [off, on] = off_and_on(&tiny(), "quiet = on", &requests(&sampling));
        assert_eq!(tokens(&off).len(), 20 * 40);
        assert_eq!(essence(&on), essence(&off), "{sampling}");

        assert_eq!(sum(&off, "usage", "drafts"), 0);
        let drafted = sum(&on, "usage", "draft_tokens");
        let accepted = sum(&on, "usage", "accepted_tokens");
        assert!(
            0 < accepted && accepted < drafted,
            "{accepted} of {drafted}, {sampling}"
        );
        let passes = |events: &[Value]| sum(events, "timing", "decode_passes");
        assert_eq!(passes(&off), 20 * 39);
        assert_eq!(passes(&on), 20 * 39 - accepted);
    }
}

/// A request whose answer goes round in a circle of three tokens, and that answer. The random numbers that
/// these models are made of repeat themselves when what was said is made likelier instead of less likely.
fn circle() -> (Vec<u64>, Vec<u64>) {
    let ids = prompt(20);
    let request = around(&json!(ids), 120);
    let answer = tokens(&play(
        tiny(),
        "quiet = on",
        vec![Step::Type(line(&request))],
    ));
    let (known, rest) = answer.split_at(80);
    assert!(rest[3..].iter().zip(rest).all(|(a, b)| a == b), "{rest:?}");
    let prompt = ids.iter().map(|&id| id as u64).chain(known.iter().copied());
    (prompt.collect(), rest.to_vec())
}

fn around(ids: &Value, max_tokens: usize) -> Value {
    json!({"op": "complete", "ids": ids, "max_tokens": max_tokens, "ignore_eos": true,
        "logits_crc32c": true, "repeat_penalty": 0.5})
}

#[test]
fn an_answer_may_be_cut_at_any_token_of_a_draft() {
    let (ids, answer) = circle();
    for max_tokens in 1..=20 {
        // The second request finds what the first one has left in the context.
        let again: Vec<u64> = ids.iter().chain(&answer[..max_tokens]).copied().collect();
        let requests = [around(&json!(ids), max_tokens), around(&json!(again), 2)];
        let [off, on] = [json!("off"), json!("on")].map(|speculate| {
            let steps = requests.iter().map(|request| {
                let mut request = request.clone();
                request["speculate"] = speculate.clone();
                Step::Type(line(&request))
            });
            play(tiny(), "quiet = on", steps.collect())
        });
        assert_eq!(essence(&on), essence(&off), "{max_tokens}");
        assert_eq!(tokens(&on), answer[..max_tokens + 2]);
        let done = on
            .iter()
            .find(|event| event["event"] == "done")
            .expect("an end");
        let passes = (max_tokens - 1).div_ceil(8);
        assert_eq!(done["timing"]["decode_passes"], passes, "{done}");
    }
}

#[test]
fn an_accepted_token_may_end_the_answer() {
    let (ids, answer) = circle();
    // The same model, but another id ends its answers.
    let mut model = tiny();
    let key = b"tokenizer.ggml.eos_token_id";
    let key_at = model.windows(key.len()).position(|window| window == key);
    let at = key_at.expect("the file names one") + key.len();
    assert_eq!(model[at..at + 4], 4u32.to_le_bytes(), "a u32 follows");
    model[at + 4..at + 8].copy_from_slice(&(answer[2] as u32).to_le_bytes());

    let mut request = around(&json!(ids), 40);
    request["ignore_eos"] = json!(false);
    let [off, on] = off_and_on(&model, "quiet = on", &[request]);
    assert_eq!(essence(&on), essence(&off));
    assert_eq!(tokens(&on), answer[..2]);
    let done = on.last().expect("an end");
    assert_eq!(done["finish_reason"], "stop");
    assert_eq!(done["usage"]["accepted_tokens"], 1, "{done}");
    assert_eq!(done["usage"]["draft_tokens"], 7, "{done}");
}

#[test]
fn the_contexts_end_may_come_within_a_draft() {
    let (ids, answer) = circle();
    let (options, context_len) = ("quiet = on\ncontext = 125", 125);
    let [off, on] = off_and_on(&tiny(), options, &[around(&json!(ids), 100)]);
    assert_eq!(essence(&on), essence(&off));
    assert_eq!(tokens(&on), answer[..context_len - ids.len() + 1]);
    let done = on.last().expect("an end");
    assert_eq!(done["finish_reason"], "context_full");
    assert_eq!(done["usage"]["context_used"], context_len);
    assert_eq!(done["timing"]["decode_passes"], 2, "{done}");
}

#[test]
fn an_abort_may_come_at_any_token_of_a_draft() {
    let (ids, answer) = circle();
    let mut request = around(&json!(ids), 20);
    request["speculate"] = json!(7);
    let mut aborted_after = Vec::new();
    for looks in 1..90 {
        let steps = [1, 2].map(|id| {
            request["id"] = json!(id);
            Step::Type(line(&request))
        });
        let [first, second] = steps;
        let steps = vec![first, Step::AtLook(looks, b"\x03"), second];
        let events = play(tiny(), "quiet = on", steps);
        let of = |id: u64| -> Vec<Value> {
            let events = events.iter().filter(|event| event["id"] == id);
            events.cloned().collect()
        };
        let (first, second) = (of(1), of(2));
        let told = tokens(&first);
        assert_eq!(told, answer[..told.len()]);
        assert_eq!(tokens(&second), answer[..20], "after {} tokens", told.len());
        let done = first.last().expect("an end");
        if done["finish_reason"] == "abort" && !told.is_empty() {
            let used = ids.len() + told.len() - 1;
            assert_eq!(done["usage"]["context_used"], used, "{done}");
            aborted_after.push(told.len());
        }
    }
    aborted_after.dedup();
    assert_eq!(aborted_after, (1..20).collect::<Vec<_>>());
}

#[test]
fn a_person_sees_the_setting_and_what_came_of_it() {
    let lines = b"/set temperature 0\r/set max_tokens 60\r/set speculate on\r/set speculate\r/info\r/raw abcabcabcabcabcabc\r\
                  /set speculate off\r/raw abcabcabcabcabcabc\r/info\r/set speculate 8\r";
    let (shown, _) = Board::new(vec![("tiny.gguf", tiny())], vec![Step::Type(lines)]).play();
    assert!(shown.contains("speculate       7"), "{shown}");
    assert!(shown.contains("speculate up to 7 draft tokens"), "{shown}");
    assert!(shown.contains("speculate off"), "{shown}");
    assert!(
        shown.contains("speculate cannot be \"8\": it takes off, on, or a whole number up to 7"),
        "{shown}"
    );
    let answers: Vec<&str> = shown
        .split("/raw abcabcabcabcabcabc\n")
        .skip(1)
        .map(|part| part.split("\n[").next().unwrap_or(""))
        .collect();
    assert_eq!(answers.len(), 2, "{shown}");
    assert_eq!(answers[0], answers[1]);
    assert_eq!(shown.matches("tokens per pass").count(), 1, "{shown}");
}
