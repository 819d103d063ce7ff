//! Requests for what cannot be.

use super::line;
use crate::board::with_board;

#[test]
fn a_number_below_zero() {
    line(
        r#"{"id":1,"op":"complete","prompt":"a","max_tokens":-1}"#,
        1,
        "bad_value",
        "\"max_tokens\" must be a whole number from 0 to 18446744073709551615 at line 1 column 53",
    );
}

#[test]
fn a_number_out_of_range() {
    line(
        r#"{"id":1,"op":"complete","prompt":"a","temperature":1e9}"#,
        1,
        "bad_value",
        "\"temperature\" must be a number from 0 to 5",
    );
}

#[test]
fn a_setting_that_does_not_exist() {
    with_board(|board| {
        let events = board.sends(br#"{"id":1,"op":"set","key":"heat","value":1}"#);
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0]["code"], "bad_value", "{events:?}");
        let message = events[0]["message"].as_str().unwrap();
        assert!(
            message.starts_with("no setting is called \"heat\"; there are "),
            "{message}"
        );
    });
}

#[test]
fn a_name_of_no_letters() {
    line(
        r#"{"id":1,"op":"load","name":""}"#,
        1,
        "bad_value",
        "\"name\" must be a name, a part of one, or a number",
    );
}

#[test]
fn a_token_that_the_vocabulary_lacks() {
    line(
        r#"{"id":1,"op":"complete","ids":[1,70000]}"#,
        1,
        "bad_value",
        "token id 70000 does not exist: the vocabulary has 512",
    );
}

#[test]
fn no_prompt() {
    line(
        r#"{"id":1,"op":"complete","ids":[]}"#,
        1,
        "empty_prompt",
        "the prompt is empty",
    );
}

#[test]
fn two_prompts() {
    line(
        r#"{"id":1,"op":"complete","ids":[1],"prompt":"a"}"#,
        1,
        "bad_value",
        "\"prompt\" must be either \"prompt\" or \"ids\"",
    );
}

#[test]
fn a_prompt_longer_than_the_context() {
    let ids = ["7"; 600].join(",");
    line(
        format!(r#"{{"id":1,"op":"complete","ids":[{ids}]}}"#),
        1,
        "prompt_too_long",
        "the prompt has 600 tokens and the context takes 512, of which the answer needs some: shorten it, or load the \
         model with a longer context",
    );
}

#[test]
fn a_conversation_without_messages() {
    line(
        r#"{"id":1,"op":"chat","messages":[]}"#,
        1,
        "bad_value",
        "\"messages\" is empty",
    );
}

#[test]
fn a_conversation_that_ends_with_an_answer() {
    line(
        r#"{"id":1,"op":"chat","messages":[{"role":"assistant","content":"a"}]}"#,
        1,
        "bad_value",
        "the last message must be the user's",
    );
}

#[test]
fn a_role_that_does_not_exist() {
    line(
        r#"{"id":1,"op":"chat","messages":[{"role":"tool","content":"a"}]}"#,
        1,
        "bad_value",
        "no role is called \"tool\"; there are system, user and assistant",
    );
}
