//! Events as lines: what is written reads back, and no line can steer a terminal.

mod samples;

use proptest::prelude::*;
use protocol::event::{Line, Token};
use protocol::{Event, Id, json};

fn line(id: &Id, event: &Event<'_>) -> String {
    let mut line = String::new();
    json::write(&mut line, id, event).expect("a String takes everything");
    line
}

#[test]
fn every_event_reads_back() {
    for event in samples::events() {
        let id = Id::Text("a".into());
        let written = line(&id, &event);
        let read: Line<'_> =
            serde_json::from_str(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(line(&read.id, &read.event), written);
    }
}

#[test]
fn the_bytes_of_the_largest_logits_are_hexadecimal_digits() {
    let logits = |event: &Event<'_>| matches!(event, Event::Logits(_));
    let event = samples::events().into_iter().find(logits).expect("one");
    let written = line(&Id::None, &event);
    assert!(
        written.ends_with(r#""log_sum_exp":0.75,"top":[[1,0.5,"c30a"],[2,0.25,"ff"]]}"#),
        "{written}"
    );
    let read: Line<'_> = serde_json::from_str(&written).expect("JSON");
    assert_eq!(read.event, event);
    for bad in ["c3", "c30", "+1", "x0"] {
        let cut = written.replace("c30a", bad);
        let is_read = serde_json::from_str::<Line<'_>>(&cut).is_ok();
        assert_eq!(is_read, bad == "c3", "{cut}");
    }
}

#[test]
fn tokens_that_share_a_line_come_one_by_one() {
    let event = samples::events()
        .into_iter()
        .find(|event| matches!(event, Event::Chunk(_)));
    let Some(Event::Chunk(chunk)) = event else {
        panic!("no chunk");
    };
    let written = line(&Id::None, &Event::Chunk(chunk.clone()));
    assert!(
        written.ends_with("\"tokens\":[[1,\"\u{20AC}\"],[2,\"\"],[3,\"a\"]],\"thinking\":true}"),
        "{written}"
    );
    let read: Line<'_> = serde_json::from_str(&written).expect("JSON");
    assert_eq!(read.event, Event::Chunk(chunk.clone()));
    let tokens: Vec<(u32, String, bool)> = chunk
        .iter()
        .map(|token| (token.token, token.text.into_owned(), token.thinking))
        .collect();
    let text = |token, text: &str| (token, text.to_owned(), true);
    assert_eq!(tokens, [text(1, "\u{20AC}"), text(2, ""), text(3, "a")]);
}

#[test]
fn notices_for_people_have_no_line() {
    let mut out = String::new();
    let notice = Event::Notice("a".into());
    assert!(json::write(&mut out, &Id::None, &notice).is_err());
}

#[test]
fn numbers_that_json_lacks_are_null() {
    let mut out = String::new();
    json::value(&mut out, &[f32::NAN, f32::INFINITY, -0.5, 1.0, 1e-7])
        .expect("a String takes everything");
    assert_eq!(out, "[null,null,-0.5,1,0.0000001]");
}

proptest! {
    #[test]
    fn strings_and_numbers_read_back(s in any::<String>(), id in any::<i64>(), x in any::<f32>(), y in any::<f64>()) {
        let token = Token { token: 1, text: s.as_str().into(), thinking: false };
        let written = line(&Id::Number(id), &Event::Token(token));
        prop_assert!(!written.bytes().any(|b| b < 0x20 || b == 0x7F), "one line, nothing a terminal acts on");
        let value: serde_json::Value = serde_json::from_str(&written).expect("JSON");
        prop_assert_eq!(value["text"].as_str(), Some(s.as_str()));
        prop_assert_eq!(value["id"].as_i64(), Some(id));

        let mut numbers = String::new();
        json::value(&mut numbers, &(x, y)).expect("a String takes everything");
        let value: serde_json::Value = serde_json::from_str(&numbers).expect("JSON");
        if x.is_finite() {
            prop_assert_eq!(value[0].as_f64().map(|v| v as f32), Some(x));
        }
        if y.is_finite() {
            // The reader of this test rounds, by a step of the smallest numbers too.
            let step = (y.abs() * 1e-15).max(f64::from_bits(2));
            prop_assert!((value[1].as_f64().unwrap_or(f64::NAN) - y).abs() <= step);
        }
    }
}
