//! What requests become, and what each mistake is called.

use super::{
    CompleteRequest, Id, LogitsRequest, Message, Op, Positions, Prompt, Request, RequestError,
    Sampling,
};
use crate::json::request::fields::OPS;
use proptest::prelude::*;

fn op(line: &str) -> Op {
    Request::parse(line.as_bytes()).expect(line).op
}

fn error(line: &str) -> (Id, &'static str, String) {
    let (id, error) = Request::parse(line.as_bytes()).expect_err(line);
    (id, error.code(), error.to_string())
}

#[test]
fn the_chat_request_of_the_design() {
    let request = Request::parse(
        br#"{"id":7,"op":"chat","messages":[{"role":"user","content":"hi"}],"max_tokens":64,"temperature":0.0,"seed":1}"#,
    )
    .expect("a request");
    assert_eq!(request.id, Id::Number(7));
    assert_eq!(
        request.op,
        Op::Chat {
            messages: vec![Message {
                role: "user".into(),
                content: "hi".into()
            }],
            sampling: Sampling {
                max_tokens: Some(64),
                temperature: Some(0.0),
                seed: Some(1),
                ..Sampling::default()
            },
            logits: LogitsRequest::default(),
        }
    );
}

#[test]
fn a_completion_takes_text_a_question_or_ids() {
    let prompt = |line: &str| match op(line) {
        Op::Complete(CompleteRequest { prompt, .. }) => prompt,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        prompt(r#"{"op":"complete","prompt":"a"}"#),
        Prompt::Raw {
            text: "a".into(),
            special: false
        }
    );
    assert_eq!(
        prompt(r#"{"op":"complete","prompt":"<s>","special":true}"#),
        Prompt::Raw {
            text: "<s>".into(),
            special: true
        }
    );
    assert_eq!(
        prompt(r#"{"op":"complete","prompt":"a","raw":false}"#),
        Prompt::Question("a".into())
    );
    assert_eq!(
        prompt(r#"{"op":"complete","ids":[1,2]}"#),
        Prompt::Ids(vec![1, 2])
    );
    let Op::Complete(CompleteRequest { logits, .. }) = op(
        r#"{"op":"complete","ids":[1],"top_logits":5,"logits_crc32c":true,"logits_positions":"all"}"#,
    ) else {
        panic!("a completion");
    };
    assert_eq!(
        logits,
        LogitsRequest {
            top: 5,
            crc: true,
            positions: Positions::All
        }
    );
}

#[test]
fn guessing_takes_a_number_or_a_truth_value() {
    let guess = |value: &str| {
        let line = format!(r#"{{"op":"complete","ids":[1],"guess":{value}}}"#);
        match op(&line) {
            Op::Complete(CompleteRequest { sampling, .. }) => sampling.guess,
            other => panic!("{other:?}"),
        }
    };
    for (value, n) in [
        ("true", 7),
        ("false", 0),
        ("1", 1),
        ("7", 7),
        ("\"off\"", 0),
    ] {
        assert_eq!(guess(value), Some(n), "{value}");
    }
    let (id, code, reason) = error(r#"{"id":1,"op":"complete","ids":[1],"guess":8}"#);
    assert_eq!((id, code), (Id::Number(1), "bad_value"));
    assert!(
        reason.contains("guess") && reason.contains("up to 7"),
        "{reason}"
    );
    assert_eq!(
        error(r#"{"op":"complete","ids":[1],"guess":1.5}"#).1,
        "bad_value"
    );
}

#[test]
fn every_op_is_known_and_needs_what_it_needs() {
    for op in OPS {
        if let Err((_, error)) = Request::parse(format!(r#"{{"op":"{op}"}}"#).as_bytes()) {
            assert!(
                matches!(error, RequestError::MissingField { .. }),
                "{op}: {error}"
            );
        }
    }
}

#[test]
fn mistakes_have_a_code_a_reason_and_the_id() {
    assert_eq!(error(r#"{"id":3,"op":"dance"}"#).0, Id::Number(3));
    assert_eq!(error(r#"{"id":3,"op":"dance"}"#).1, "unknown_op");
    assert_eq!(
        error(r#"{"id":"x"}"#),
        (
            Id::Text("x".into()),
            "missing_field",
            RequestError::MissingOp.to_string()
        )
    );
    assert_eq!(error(r#"{"id":1,"op":"chat"}"#).1, "missing_field");
    assert_eq!(
        error(r#"{"id":1,"op":"info","prompt":"x"}"#).1,
        "unknown_field"
    );
    assert_eq!(
        error(r#"{"id":1,"op":"complete","ids":[1],"special":true}"#).1,
        "unknown_field"
    );
    let (id, code, reason) = error(r#"{"id":1,"op":"complete","prompt":"x","max_token":3}"#);
    assert_eq!((id, code), (Id::Number(1), "bad_json"));
    assert!(
        reason.contains("max_token") && reason.contains("column"),
        "{reason}"
    );
    for bad in [
        r#"{"op":"complete","prompt":"x","temperature":-1}"#,
        r#"{"op":"complete","prompt":"x","top_p":0}"#,
        r#"{"op":"complete","prompt":"x","top_logits":101}"#,
        r#"{"op":"complete","prompt":"x","ids":[1]}"#,
    ] {
        assert_eq!(error(bad).1, "bad_value", "{bad}");
    }
    for bad in [
        "{",
        "{}x",
        r#"{"op":1}"#,
        r#"{"op":"info","id":1.5}"#,
        r#"{"op":"complete","ids":[-1]}"#,
    ] {
        let code = error(bad).1;
        assert!(
            code == "bad_json" || code == "missing_field",
            "{bad}: {code}"
        );
    }
    let (_, not_utf8) = Request::parse(b"{\"op\":\"\xFF\"}").expect_err("not UTF-8");
    assert_eq!(not_utf8, RequestError::NotUtf8 { at: 7 });
}

#[test]
fn nesting_without_end_is_refused() {
    let line = format!("{{\"op\":{}", "[".repeat(100_000));
    assert_eq!(error(&line).1, "bad_json");
}

proptest! {
    #[test]
    fn no_line_makes_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut line = b"{".to_vec();
        line.extend(bytes);
        if let Err((_, error)) = Request::parse(&line) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn near_misses_do_not_make_it_panic_either(
        op in prop::sample::select(OPS.to_vec()),
        field in prop::sample::select(vec!["id", "prompt", "ids", "messages", "temperature", "seed", "value", "max_tokens"]),
        value in prop_oneof![
            Just("1".to_owned()), Just("-1".to_owned()), Just("1e400".to_owned()), Just("null".to_owned()),
            Just("\"x\"".to_owned()), Just("[]".to_owned()), Just("[{}]".to_owned()), Just("{}".to_owned()),
            Just("18446744073709551616".to_owned()), Just("[1,2".to_owned()), Just("\"\\ud800\"".to_owned()),
        ],
    ) {
        let line = format!("{{\"op\":\"{op}\",\"{field}\":{value}}}");
        match Request::parse(line.as_bytes()) {
            Ok(request) => {
                let parsed = format!("{:?}", request.op).to_lowercase();
                prop_assert!(parsed.starts_with(op), "{} became {}", op, parsed);
            }
            Err((_, error)) => prop_assert!(!error.code().is_empty()),
        }
    }
}
