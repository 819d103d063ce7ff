//! A program's requests: one end for each, the logits and the text of its tokens.

use crate::bench_board::Step;
use crate::{program, text_of};
use proptest::prelude::*;
use serde_json::Value;

#[test]
fn a_program_gets_exactly_one_end_per_request() {
    let events = program(vec![Step::Type(
        b"{\"id\":1,\"op\":\"info\"}\n{\"id\":\"t\",\"op\":\"tokenize\",\"text\":\"hello\"}\r\n{\"id\":3,\"op\":\"models\"}\n\
          {\"id\":4,\"op\":\"oops\"}\n{oops}\n{\"id\":5,\"op\":\"complete\",\"prompt\":\"ab\",\"max_tokens\":3}\n\
          {\"id\":6,\"op\":\"abort\"}\n{\"id\":7,\"op\":\"load\",\"name\":\"nothing\"}\n{\"id\":8,\"op\":\"load\",\"name\":\"tiny\"}\n\
          {\"id\":9,\"op\":\"reset\"}\n",
    )]);
    let ends: Vec<(&Value, &str)> = events
        .iter()
        .filter(|event| event["event"] == "done" || event["event"] == "error")
        .map(|event| (&event["id"], event["event"].as_str().unwrap_or("")))
        .collect();
    let expected = [
        (serde_json::json!(1), "done"),
        (serde_json::json!("t"), "done"),
        (serde_json::json!(3), "done"),
        (serde_json::json!(4), "error"),
        (Value::Null, "error"),
        (serde_json::json!(5), "done"),
        (serde_json::json!(6), "done"),
        (serde_json::json!(7), "error"),
        (serde_json::json!(8), "done"),
        (serde_json::json!(9), "done"),
    ];
    assert_eq!(ends.len(), expected.len(), "{ends:?}");
    for ((id, event), (expected_id, expected_event)) in ends.iter().zip(&expected) {
        assert_eq!((*id, event), (expected_id, expected_event));
    }
}

#[test]
fn logits_do_not_depend_on_how_the_prompt_is_worked_in() {
    let all = program(vec![Step::Type(
        br#"{"op":"complete","ids":[5,6,7,8],"max_tokens":0,"logits_crc32c":true,"top_logits":2,"logits_positions":"all"}
"#,
    )]);
    let last = program(vec![Step::Type(
        br#"{"op":"complete","ids":[5,6,7,8],"max_tokens":2,"logits_crc32c":true,"ignore_eos":true}
"#,
    )]);
    let crcs = |events: &[Value]| -> Vec<(u64, String)> {
        let logits = events.iter().filter(|event| event["event"] == "logits");
        logits
            .map(|l| {
                (
                    l["position"].as_u64().unwrap_or(99),
                    l["crc32c"].as_str().unwrap_or("").to_owned(),
                )
            })
            .collect()
    };
    let (all, last) = (crcs(&all), crcs(&last));
    assert_eq!(
        all.iter()
            .map(|(position, _)| *position)
            .collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    assert_eq!(
        last.iter()
            .map(|(position, _)| *position)
            .collect::<Vec<_>>(),
        [3, 4]
    );
    assert_eq!(all[3], last[0]);
    assert!(all[0].1 != all[1].1);
}

#[test]
fn text_of_all_token_events_is_the_decoded_text() {
    let events = program(vec![Step::Type(
        br#"{"op":"complete","prompt":"abc","max_tokens":60,"temperature":5,"seed":3,"top_k":0,"top_p":1,"min_p":0,"ignore_eos":true}
"#,
    )]);
    let ids: Vec<u64> = events
        .iter()
        .filter_map(|event| event["token"].as_u64())
        .collect();
    assert_eq!(ids.len(), 60);
    let request = format!(
        "{}\n",
        serde_json::json!({"op": "detokenize", "ids": ids.iter().filter(|&&id| id > 2).collect::<Vec<_>>()})
    );
    let again = program(vec![Step::Type(
        Box::leak(request.into_boxed_str()).as_bytes(),
    )]);
    assert_eq!(
        text_of(&events),
        text_of(&again),
        "control tokens have no text, all else is there"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_request_can_be_aborted_at_any_moment(looks in 1usize..120) {
        let events = program(vec![
            Step::Type(b"{\"id\":1,\"op\":\"complete\",\"prompt\":\"once upon a time\",\"ignore_eos\":true,\"max_tokens\":30}\n"),
            Step::AtLook(looks, b"{\"op\":\"abort\",\"id\":1}\r\n"),
            Step::Type(b"{\"id\":2,\"op\":\"complete\",\"prompt\":\"once upon\",\"max_tokens\":1}\n"),
        ]);
        let ends: Vec<String> = events
            .iter()
            .filter(|event| event["event"] == "done")
            .map(|event| format!("{} {}", event["id"], event["finish_reason"].as_str().unwrap_or("-")))
            .collect();
        let tokens = events.iter().filter(|event| event["id"] == 1 && event["event"] == "token").count();
        // Too late, the abort is a request of its own that finds nothing to stop.
        let of_1: Vec<&str> = ends.iter().filter(|end| end.starts_with("1 ")).map(String::as_str).collect();
        let expected: &[&str] = if of_1.first() == Some(&"1 abort") { &["1 abort"] } else { &["1 length", "1 -"] };
        prop_assert_eq!(&of_1, expected);
        prop_assert!(tokens == 30 || of_1 == ["1 abort"], "{} tokens: {:?}", tokens, of_1);
        prop_assert!(ends.iter().any(|end| end == "2 length" || end == "2 stop"), "{:?}", ends);
    }
}

#[test]
fn the_largest_logits_have_their_tokens_bytes_and_the_sum_over_all() {
    let events = program(vec![Step::Type(
        br#"{"op":"complete","ids":[5,6],"max_tokens":12,"temperature":0,"top_logits":3,"ignore_eos":true}
"#,
    )]);
    let logits: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "logits")
        .collect();
    let tokens: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "token")
        .collect();
    assert_eq!((logits.len(), tokens.len()), (12, 12));
    let mut bytes = Vec::new();
    for (logits, token) in logits.iter().zip(&tokens) {
        let sum = logits["log_sum_exp"].as_f64().expect("a number");
        let probability = |n: usize| (logits["top"][n][1].as_f64().expect("a number") - sum).exp();
        assert_eq!(logits["top"][0][0], token["token"]);
        assert!(
            probability(0) + probability(1) + probability(2) < 1.0,
            "{logits}"
        );
        assert!(
            probability(0) > 1.0 / 600.0,
            "no less than all alike: {logits}"
        );
        let digits = logits["top"][0][2].as_str().expect("digits");
        bytes.extend(
            (0..digits.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("a byte")),
        );
    }
    assert!(bytes.len() > 12);
    assert_eq!(String::from_utf8_lossy(&bytes), text_of(&events));
}

#[test]
fn a_control_token_among_the_largest_logits_has_no_bytes() {
    let events = program(vec![Step::Type(
        br#"{"op":"complete","ids":[5,6],"max_tokens":30,"temperature":0,"top_logits":100,"ignore_eos":true}
"#,
    )]);
    let tops = events.iter().filter_map(|event| event["top"].as_array());
    let (control, text): (Vec<&Value>, Vec<&Value>) =
        tops.flatten().partition(|top| top[0].as_u64() < Some(3));
    assert!(!control.is_empty() && control.iter().all(|top| top[2] == ""));
    assert!(text.len() > 100 && text.iter().all(|top| top[2] != ""));
}
