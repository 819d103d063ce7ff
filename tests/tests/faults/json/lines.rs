//! Lines that are no requests.

use super::line;
use crate::board::{crc32c, with_board};
use protocol::Op;
use serde_json::{Value, json};

/// The names of all ops.
fn ops() -> String {
    let names: Vec<_> = Op::ALL.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

#[test]
fn a_brace_alone() {
    line(
        "{",
        Value::Null,
        "bad_json",
        "EOF while parsing an object at line 1 column 1",
    );
}

#[test]
fn an_object_without_an_op() {
    line(
        "{}",
        Value::Null,
        "missing_field",
        &format!("a request needs \"op\"; one of {}", ops()),
    );
}

#[test]
fn an_op_that_does_not_exist() {
    line(
        r#"{"id":7,"op":"dance"}"#,
        7,
        "unknown_op",
        &format!("no op \"dance\"; there are {}", ops()),
    );
}

#[test]
fn an_op_that_is_a_number() {
    line(
        r#"{"id":7,"op":7}"#,
        7,
        "bad_json",
        "\"op\": invalid type: integer `7`, expected a string at line 1 column 14",
    );
}

#[test]
fn an_id_that_is_a_list() {
    line(
        r#"{"id":[7],"op":"info"}"#,
        Value::Null,
        "bad_json",
        "\"id\": an id is a whole number or a string at line 1 column 9",
    );
}

#[test]
fn an_id_with_a_point() {
    line(
        r#"{"id":7.5,"op":"info"}"#,
        Value::Null,
        "bad_json",
        "\"id\": an id is a whole number or a string at line 1 column 9",
    );
}

#[test]
fn a_line_cut_off_behind_its_id() {
    line(
        r#"{"id":"a","op":"comp"#,
        "a",
        "bad_json",
        "EOF while parsing a string at line 1 column 20",
    );
}

#[test]
fn two_objects_on_a_line() {
    line(
        r#"{"id":1,"op":"info"}{"id":2}"#,
        1,
        "bad_json",
        "trailing characters at line 1 column 21",
    );
}

#[test]
fn a_field_that_is_there_twice() {
    line(
        r#"{"id":1,"op":"load","name":"a","name":"b"}"#,
        1,
        "bad_json",
        "\"name\" stands there twice",
    );
}

#[test]
fn a_field_that_the_op_does_not_have() {
    line(
        r#"{"id":1,"op":"info","tokens":5}"#,
        1,
        "unknown_field",
        "\"info\" has no field \"tokens\"",
    );
}

#[test]
fn a_field_that_is_missing() {
    line(
        r#"{"id":1,"op":"load"}"#,
        1,
        "missing_field",
        "\"load\" needs \"name\"",
    );
}

#[test]
fn a_field_that_is_null() {
    line(
        r#"{"id":1,"op":"load","name":null}"#,
        1,
        "bad_json",
        "\"name\": invalid type: null, expected a string at line 1 column 31",
    );
}

#[test]
fn a_field_of_another_type() {
    line(
        r#"{"id":1,"op":"detokenize","ids":"1"}"#,
        1,
        "bad_json",
        "\"ids\": invalid type: string \"1\", expected a sequence at line 1 column 35",
    );
}

#[test]
fn a_number_that_is_none() {
    line(
        r#"{"id":1,"op":"complete","prompt":"a","temperature":NaN}"#,
        1,
        "bad_json",
        "expected value at line 1 column 52",
    );
}

#[test]
fn half_a_surrogate() {
    line(
        r#"{"id":1,"op":"ask","text":"\ud800"}"#,
        1,
        "bad_json",
        "unexpected end of hex escape at line 1 column 34",
    );
}

#[test]
fn brackets_without_end() {
    let deep = format!(r#"{{"id":1,"op":"info","x":{}"#, "[".repeat(100_000));
    line(
        deep,
        1,
        "bad_json",
        "EOF while parsing a list at line 1 column 100024",
    );
}

#[test]
fn a_byte_that_no_character_has() {
    line(
        b"{\"id\":1,\"op\":\"ask\",\"text\":\"\xFF\"}",
        1,
        "bad_utf8",
        "the line is not UTF-8: the first wrong byte is at 27",
    );
}

#[test]
fn a_line_longer_than_it_may_be() {
    let text = "x".repeat(256 << 10);
    let head = r#"{"id":1,"op":"ask","text":""#;
    let more = head.len() + 2;
    line(
        format!("{head}{text}\"}}"),
        1,
        "overlong",
        &format!("the line has {more} bytes more than the 262144 that a request may have"),
    );
}

/// The answer to a line whose checksum is wrong or missing: the first and last of its numbered events.
fn bad_crc(message: &str) -> [Value; 1] {
    [json!({"id": null, "n": 0, "event": "error", "code": "bad_crc", "message": message})]
}

/// Nothing in such a line can be trusted, not even its id.
#[test]
fn a_checksum_that_is_wrong() {
    let request = r#"{"id":1,"op":"info"}"#;
    let found = crc32c(request.as_bytes());
    let message =
        format!("the line was damaged: its CRC-32C is {found:08x} and not 00000000; send it again");
    with_board(|board| {
        let events = board.sends(format!("{request} #00000000").as_bytes());
        assert_eq!(events, bad_crc(&message));
    });
}

/// Until a reset, which needs no checksum.
#[test]
fn a_line_without_a_checksum_behind_one_with() {
    with_board(|board| {
        let request = r#"{"id":1,"op":"models"}"#;
        let found = crc32c(request.as_bytes());
        board.sends(format!("{request} #{found:08x}").as_bytes());
        let message = "the line has no CRC-32C and lines before it had one: send it with one, or `reset` first";
        assert_eq!(board.sends(request.as_bytes()), bad_crc(message));
        assert_eq!(board.sends(b"/help"), bad_crc(message));
        board.sends(br#"{"id":2,"op":"reset"}"#);
    });
}
