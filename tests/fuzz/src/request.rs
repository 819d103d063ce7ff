//! Any bytes as a program's line.

use protocol::event::{Error, ErrorCode, Event};
use protocol::request::Rejected;
use protocol::{Id, Request, json};

/// A request that is understood is written as it is read, to the value; one that is not gets one line of JSON with a
/// code, and with its id wherever the line is JSON at all.
pub fn check(data: &[u8]) {
    match Request::parse(data) {
        Ok(request) => {
            let line = serde_json::to_string(&request).expect("a request is JSON");
            assert!(!line.contains(ends_a_line));
            assert_eq!(
                Request::parse(line.as_bytes()).as_ref(),
                Ok(&request),
                "{line}"
            );
            assert_eq!(request.op.check(), Ok(()));
            check_id(data, &request.id);
        }
        Err(Rejected { id, error }) => {
            let error_code = error.code();
            let mut line = String::new();
            let error: Error<'static> = error.into();
            json::write(&mut line, &id, &Event::Error(error)).expect("in memory");
            let written = line.trim_end_matches(['\r', '\n']);
            assert!(!written.contains(ends_a_line), "{written:?}");
            let event: serde_json::Value = serde_json::from_str(written).expect("JSON");
            let code = serde_json::to_value(error_code).expect("a word");
            assert_eq!(event["code"], code, "{written}");
            assert_eq!(event["id"], serde_json::to_value(&id).expect("JSON"));
            // A field of the wrong kind ahead of the id ends the reading.
            if id != Id::None || error_code != ErrorCode::BadJson {
                check_id(data, &id);
            }
        }
    }
}

/// What JSON leaves to others than itself.
fn ends_a_line(c: char) -> bool {
    c < ' '
}

/// A line that serde reads as an object with one whole or textual id has that id.
fn check_id(data: &[u8], id: &Id) {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_slice(data) else {
        return;
    };
    let expected = match fields.get("id") {
        Some(serde_json::Value::String(text)) => Id::Text(text.clone()),
        Some(serde_json::Value::Number(number)) => match number.as_i64() {
            Some(number) => Id::Number(number),
            None => return,
        },
        _ => return,
    };
    // Of several names `id` the first counts here and the last there.
    let n_named = String::from_utf8_lossy(data).matches("id").count()
        + data.iter().filter(|&&b| b == b'\\').count();
    if n_named == 1 {
        assert_eq!(*id, expected);
    }
}

/// The seeds: a line of each op, and lines that are none.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let line = |name, text: &str| (name, text.as_bytes().to_vec());
    vec![
        line("info", r#"{"id":1,"op":"info"}"#),
        line("load", r#"{"op":"load","name":"a.gguf","id":"x"}"#),
        line(
            "tokenize",
            r#"{"op":"tokenize","text":"a\u00e9\n","special":true}"#,
        ),
        line("detokenize", r#"{"op":"detokenize","ids":[1,2]}"#),
        line(
            "complete",
            r#"{"op":"complete","ids":[1],"max_tokens":3,"temperature":0.5,"seed":7,"top_k":4,"top_p":0.9,"logits_positions":"all"}"#,
        ),
        line(
            "chat",
            r#"{"op":"chat","messages":[{"role":"user","content":"a"}],"speculate":2,"counts":true}"#,
        ),
        line("set", r#"{"op":"set","key":"seed","value":"random"}"#),
        line(
            "bench",
            r#"{"op":"bench","runs":3,"prompt_tokens":4,"tokens":5}"#,
        ),
        line("ppl", r#"{"op":"ppl","file":"a.txt","chunks":2}"#),
        line("membw", r#"{"op":"membw","runs":3,"bytes":4096}"#),
        line("no-op", r#"{"id":2}"#),
        line("unknown-op", r#"{"id":2,"op":"\u0007dance"}"#),
        line("wrong-type", r#"{"id":2,"op":"load","name":null}"#),
        line("twice", r#"{"id":2,"op":"load","name":"a","name":"b"}"#),
        line("cut-off", r#"{"id":2,"op":"lo"#),
        (
            "not-utf8",
            b"{\"id\":3,\"op\":\"ask\",\"text\":\"\xFF\"}".to_vec(),
        ),
    ]
}
