//! Every op with every kind of fault: the right code, and the id wherever it could be read.

use protocol::event::ErrorCode;
use protocol::{Id, Op, Request};
use serde_json::{Map, Value, json};

/// A request of each op with all fields that it may have together.
fn full() -> Vec<Value> {
    let sampling = json!({
        "max_tokens": 3, "temperature": 0.5, "seed": 7, "top_k": 4, "top_p": 0.9, "min_p": 0.1, "repeat_penalty": 1.5,
        "speculate": 2, "ignore_eos": true, "counts": true, "top_logits": 5, "logits_crc32c": true,
        "logits_positions": "all",
    });
    let mut requests = vec![
        json!({"op": "info"}),
        json!({"op": "log"}),
        json!({"op": "models"}),
        json!({"op": "load", "name": "a"}),
        json!({"op": "reset"}),
        json!({"op": "abort", "target": 3}),
        json!({"op": "abort", "target": "a"}),
        json!({"op": "tokenize", "text": "a", "special": true}),
        json!({"op": "detokenize", "ids": [1, 2]}),
        json!({"op": "ask", "text": "a"}),
        json!({"op": "set", "key": "seed", "value": "random"}),
        json!({"op": "bench", "runs": 3, "prompt_tokens": 4, "tokens": 5}),
        json!({"op": "kernels", "runs": 3}),
        json!({"op": "ppl", "file": "a.txt", "chunks": 2}),
        json!({"op": "membw", "runs": 3, "bytes": 4096}),
        json!({"op": "sd"}),
        json!({"op": "selftest"}),
        json!({"op": "reboot"}),
    ];
    for request in [
        json!({"op": "complete", "prompt": "a", "raw": true, "special": true}),
        json!({"op": "complete", "ids": [1]}),
        json!({"op": "chat", "messages": [{"role": "user", "content": "a"}]}),
    ] {
        let mut request = request;
        let fields = request.as_object_mut().expect("an object");
        fields.extend(sampling.as_object().expect("an object").clone());
        requests.push(request);
    }
    requests
}

fn parse(request: &Map<String, Value>) -> Result<Request, (Id, ErrorCode, String)> {
    let line = Value::Object(request.clone()).to_string();
    Request::parse(line.as_bytes()).map_err(|rejected| {
        (
            rejected.id,
            rejected.error.code(),
            rejected.error.to_string(),
        )
    })
}

#[test]
fn every_op_reads_back_what_it_writes() {
    let mut seen: Vec<&str> = Vec::new();
    for request in full() {
        let line = request.to_string();
        let parsed = Request::parse(line.as_bytes())
            .unwrap_or_else(|rejected| panic!("{line}: {}", rejected.error));
        let written = serde_json::to_string(&parsed).expect("JSON");
        assert_eq!(
            Request::parse(written.as_bytes()).as_ref(),
            Ok(&parsed),
            "{written}"
        );
        seen.push(parsed.op.name());
    }
    for (name, _) in Op::ALL {
        assert!(
            seen.contains(name),
            "{name} is not among the requests of this test"
        );
    }
}

#[test]
fn every_fault_has_its_code_and_its_id() {
    for request in full() {
        let request = request.as_object().expect("an object");
        let op = request["op"].as_str().expect("a string");
        let (_, needed, optional) = Op::fields()
            .into_iter()
            .find(|(name, ..)| *name == op)
            .expect("an op");

        for unknown in ["colour", "stream", "temprature"] {
            // Before and behind the fields that are known.
            for line in [
                format!(
                    r#"{{"{unknown}":[1],{}"#,
                    &Value::Object(with_id(request)).to_string()[1..]
                ),
                {
                    let mut request = with_id(request);
                    request.insert(unknown.to_owned(), json!({"a": 1}));
                    Value::Object(request).to_string()
                },
            ] {
                let rejected = Request::parse(line.as_bytes()).expect_err(&line);
                assert_eq!(rejected.error.code(), ErrorCode::UnknownField, "{line}");
                assert_eq!(rejected.id, Id::Number(4), "{line}");
                assert!(
                    rejected
                        .error
                        .to_string()
                        .contains(&format!("\"{unknown}\"")),
                    "{line}"
                );
            }
        }

        for field in needed.iter().chain(&optional) {
            if !request.contains_key(field) {
                continue;
            }
            let mut wrong = with_id(request);
            wrong.insert(field.clone(), json!({"no": "value"}));
            let (id, code, text) = parse(&wrong).expect_err(field);
            assert_eq!(
                (id, code),
                (Id::Number(4), ErrorCode::BadJson),
                "{op} {field}: {text}"
            );
            assert!(
                text.contains(&format!("\"{field}\"")),
                "{op} {field}: {text}"
            );
        }

        for field in &needed {
            let mut without = with_id(request);
            without.remove(field);
            let (id, code, text) = parse(&without).expect_err(field);
            assert_eq!(
                (id, code),
                (Id::Number(4), ErrorCode::MissingField),
                "{op}: {text}"
            );
            assert_eq!(text, format!("\"{op}\" needs \"{field}\""));
        }
    }
}

#[test]
fn values_out_of_range_are_told_apart() {
    for (op, field, values) in [
        ("complete", "temperature", vec![json!(-0.1), json!(5.1)]),
        ("complete", "top_p", vec![json!(0), json!(1.1)]),
        ("chat", "min_p", vec![json!(-1), json!(1.01)]),
        ("chat", "repeat_penalty", vec![json!(0.0), json!(11)]),
        (
            "chat",
            "speculate",
            vec![json!(8), json!("many"), json!(-1)],
        ),
        ("complete", "top_logits", vec![json!(101)]),
        ("bench", "runs", vec![json!(0), json!(1001)]),
        ("kernels", "runs", vec![json!(0), json!(1001)]),
        ("membw", "runs", vec![json!(0), json!(1001)]),
        ("ppl", "chunks", vec![json!(0)]),
        ("load", "name", vec![json!("")]),
        (
            "chat",
            "max_tokens",
            vec![json!(-1), json!(7.0), json!(1e30)],
        ),
        ("chat", "seed", vec![json!(-1), json!(1.5)]),
        ("chat", "top_k", vec![json!(-1)]),
        ("chat", "temperature", vec![json!(1e39)]),
        ("chat", "speculate", vec![json!(7.0)]),
        ("chat", "top_logits", vec![json!(-1), json!(1.0)]),
        ("chat", "logits_positions", vec![json!("first")]),
        (
            "detokenize",
            "ids",
            vec![json!([-1]), json!([4294967296u64]), json!([1.0])],
        ),
    ] {
        let requests = full();
        let request = requests
            .iter()
            .find(|request| request["op"] == op)
            .expect("an op");
        for value in values {
            let mut request = with_id(request.as_object().expect("an object"));
            request.insert(field.to_owned(), value.clone());
            let (id, code, text) = parse(&request).expect_err(field);
            assert_eq!(
                (id, code),
                (Id::Number(4), ErrorCode::BadValue),
                "{op} {field} {value}: {text}"
            );
            assert!(text.starts_with(&format!("\"{field}\" must be ")), "{text}");
        }
    }
}

#[test]
fn nothing_else_is_taken_for_a_value() {
    for request in full() {
        let request = request.as_object().expect("an object");
        let op = request["op"].as_str().expect("a string");
        for field in request.keys().filter(|field| *field != "op") {
            let mut request = with_id(request);
            request.insert(field.clone(), Value::Null);
            // Of a choice of types it is one more type; their values are checked.
            let expected = match field.as_str() {
                "value" | "speculate" => ErrorCode::BadValue,
                _ => ErrorCode::BadJson,
            };
            let (id, code, text) = parse(&request).expect_err(field);
            assert_eq!(
                (id, code),
                (Id::Number(4), expected),
                "{op} {field}: {text}"
            );
        }
    }
    for (line, text) in [
        (
            r#"{"op":"chat","messages":[["user","hi"]]}"#,
            "expected struct Message",
        ),
        (
            r#"{"op":"chat","messages":[],"logits_positions":{"all":null}}"#,
            r#""logits_positions": expected "last" or "all""#,
        ),
        (
            r#"{"op":"chat","messages":[],"logits_positions":1}"#,
            r#""logits_positions": expected "last" or "all""#,
        ),
        (
            r#"{"op":"chat","messages":[],"speculate":1,"guess":1}"#,
            r#""speculate" and "guess" are one field: give one of them"#,
        ),
        (
            r#"{"op":"load","name":"a","name":"b"}"#,
            r#""name" stands there twice"#,
        ),
    ] {
        let error = Request::parse(line.as_bytes()).expect_err(line).error;
        assert_eq!(error.code(), ErrorCode::BadJson, "{line}");
        assert!(error.to_string().contains(text), "{line}: {error}");
    }
}

#[test]
fn the_id_is_kept_when_the_rest_of_the_line_is_broken() {
    for line in [
        r#"{"id":4,"op":"info"} tail"#,
        r#"{"id":4,"op":"info""#,
        r#"{"id":4,"op":7}"#,
        r#"{"id":4,oops}"#,
        r#"{"id":4,"op":"info","op":"reboot"}"#,
        r#"{"id":4,"op":"info","id":5}"#,
    ] {
        let rejected = Request::parse(line.as_bytes()).expect_err(line);
        assert_eq!(
            (rejected.id, rejected.error.code()),
            (Id::Number(4), ErrorCode::BadJson),
            "{line}"
        );
    }
    let rejected =
        Request::parse(b"{\"id\":4,\"op\":\"load\",\"name\":\"\xFF\"}").expect_err("not UTF-8");
    assert_eq!(
        (rejected.id, rejected.error.code()),
        (Id::Number(4), ErrorCode::BadUtf8)
    );
    for line in [
        r#"{"id":1.5,"op":"info"}"#,
        r#"{"id":[1],"op":"info"}"#,
        r#"{"id":9223372036854775808,"op":"info"}"#,
        "{oops}",
        "{",
    ] {
        let rejected = Request::parse(line.as_bytes()).expect_err(line);
        assert_eq!(
            (rejected.id, rejected.error.code()),
            (Id::None, ErrorCode::BadJson),
            "{line}"
        );
    }
}

#[test]
fn fields_that_exclude_each_other_are_refused() {
    for (line, code) in [
        (r#"{"op":"complete"}"#, ErrorCode::MissingField),
        (
            r#"{"op":"complete","prompt":"a","ids":[1]}"#,
            ErrorCode::BadValue,
        ),
        (
            r#"{"op":"complete","ids":[1],"raw":true}"#,
            ErrorCode::UnknownField,
        ),
        (
            r#"{"op":"complete","ids":[1],"special":true}"#,
            ErrorCode::UnknownField,
        ),
        (
            r#"{"op":"complete","prompt":"a","raw":false,"special":true}"#,
            ErrorCode::UnknownField,
        ),
    ] {
        assert_eq!(
            Request::parse(line.as_bytes())
                .expect_err(line)
                .error
                .code(),
            code,
            "{line}"
        );
    }
}

#[test]
fn the_old_name_of_a_field_still_works() {
    let line = br#"{"op":"chat","messages":[],"guess":true}"#;
    let Ok(Request {
        op: Op::Chat(_, sampling, _),
        ..
    }) = Request::parse(line)
    else {
        panic!("a chat");
    };
    let settings = sampling
        .over(&protocol::Settings::default())
        .expect("in range");
    assert_eq!(settings.speculate, protocol::settings::MAX_DRAFT_TOKENS);
}

fn with_id(request: &Map<String, Value>) -> Map<String, Value> {
    let mut request = request.clone();
    request.insert("id".to_owned(), json!(4));
    request
}
