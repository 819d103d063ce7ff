//! What a person gets where nothing is set, and answers that repeat themselves.

use crate::bench_board::{Board, Step};
use crate::{events, program, text_of, tiny};
use ops::GgmlType;
use pilm::synth::{self, Shape};
use serde_json::Value;

/// What is shown to a person and to a program that type these lines.
fn shown(lines: &str, command_line: &'static str) -> String {
    let lines = lines.replace('\n', "\r").into_bytes().leak();
    let mut board = Board::new(vec![("tiny.gguf", tiny())], vec![Step::Type(lines)]);
    board.command_line = command_line;
    board.play().0
}

/// The text of the answers to `/raw abc`.
fn answers(shown: &str) -> Vec<&str> {
    let parts = shown.split("/raw abc\n").skip(1);
    parts
        .map(|part| part.split("\n[").next().unwrap_or(""))
        .collect()
}

fn greedy() -> String {
    let request = br#"{"op":"complete","prompt":"abc","max_tokens":12}
"#;
    text_of(&program(vec![Step::Type(request)]))
}

#[test]
fn a_person_is_answered_by_chance_and_a_program_is_not() {
    let quiet = "pilm.columns=1000 pilm.max_tokens=12 pilm.seed=";
    let [seven, again, eight] = ["7", "7", "8"].map(|seed| {
        let command_line = format!("{quiet}{seed}").leak();
        let shown = shown("/raw abc\n", command_line);
        assert!(shown.contains(&format!(" | seed {seed} | ")), "{shown}");
        answers(&shown)[0].to_owned()
    });
    assert_eq!(seven, again);
    assert_ne!(seven, eight);
    assert_ne!(seven, greedy());
    assert_ne!(eight, greedy());
    // the seed that is shown gives the answer again
    let first = shown("/set max_tokens 12\n/set columns 1000\n/raw abc\n", "");
    let (_, seed) = first.split_once(" | seed ").expect("a seed");
    let (seed, _) = seed.split_once(" | ").expect("more after it");
    let line = format!("/set max_tokens 12\n/set seed {seed}\n/raw abc\n");
    assert_eq!(answers(&shown(&line, "")), answers(&first));
}

#[test]
fn what_is_set_holds_for_both() {
    let shown = shown(
        "/raw abc\n/set temperature default\n/raw abc\n",
        "pilm.temperature=0 pilm.max_tokens=12",
    );
    let answers = answers(&shown);
    assert_eq!(answers[0], greedy());
    assert_ne!(answers[1], greedy());
    assert_eq!(shown.matches(" | seed ").count(), 1, "{shown}");
    let drawn = |value: &str| {
        let lines = format!(
            "{{\"op\":\"set\",\"key\":\"temperature\",\"value\":{value}}}\n\
             {{\"op\":\"complete\",\"prompt\":\"abc\",\"max_tokens\":12,\"seed\":3}}\n"
        );
        text_of(&program(vec![Step::Type(lines.into_bytes().leak())]))
    };
    assert_ne!(drawn("1.5"), greedy());
    assert_eq!(drawn("\"default\""), greedy());
}

/// Answers of 400 tokens at most to prompts of one letter each, by a request with these fields.
fn long_answers(first: &str, fields: &str) -> Vec<(String, Value)> {
    let mut lines = String::from(first);
    for letter in 'a'..='h' {
        lines += &format!(
            "{{\"op\":\"complete\",\"id\":\"{letter}\",\"prompt\":\"{letter}\",\"max_tokens\":400{fields}}}\n"
        );
    }
    let all = program(vec![Step::Type(lines.into_bytes().leak())]);
    let of = |letter: char| {
        let own: Vec<Value> = all
            .iter()
            .filter(|event| event["id"] == letter.to_string().as_str())
            .cloned()
            .collect();
        let done = own.last().expect("an end").clone();
        (text_of(&own), done)
    };
    ('a'..='h').map(of).collect()
}

#[test]
fn an_answer_that_repeats_itself_is_ended() {
    let stopped = long_answers("", "");
    let off = "{\"op\":\"set\",\"key\":\"stop_repetition\",\"value\":\"off\"}\n";
    let all = long_answers(off, "");
    let mut n_stopped = 0;
    for ((text, done), (whole, whole_done)) in stopped.iter().zip(&all) {
        assert_ne!(whole_done["finish_reason"], "repetition");
        if done["finish_reason"] != "repetition" {
            assert_eq!(text, whole);
            continue;
        }
        n_stopped += 1;
        assert!(whole.starts_with(text.as_str()), "{text}");
        // what is left out is the same again
        let tokens = done["usage"]["completion_tokens"]
            .as_u64()
            .expect("a number");
        assert!((48..400).contains(&tokens), "{done}");
    }
    assert!(
        n_stopped > 0,
        "no answer of this model repeats itself: {all:?}"
    );
    for (_, done) in long_answers("", ",\"ignore_eos\":true") {
        assert_eq!(done["finish_reason"], "length", "{done}");
    }
}

#[test]
fn a_person_is_told_that_an_answer_repeats_itself() {
    let letter = ('a'..='h')
        .zip(long_answers("", ""))
        .find(|(_, (_, done))| done["finish_reason"] == "repetition")
        .expect("one repeats itself")
        .0;
    let lines = format!(
        "/set temperature 0\n/set max_tokens 400\n/raw {letter}\n/set stats off\n/raw {letter}\n"
    );
    let shown = shown(&lines, "pilm.columns=1000");
    let note = "ended: the answer repeats itself; /set stop_repetition off lets it go on";
    assert_eq!(
        shown.matches("[cut: it repeats itself | ").count(),
        1,
        "{shown}"
    );
    assert_eq!(shown.matches(note).count(), 2, "{shown}");
    assert!(events(&shown).is_empty(), "{shown}");
}

/// The answers of one conversation to a letter and then to more, and their ends; `before` is set first.
fn two_answers(letter: char, before: &[(&str, &str)]) -> [(String, Value); 2] {
    let set = |(key, value): &(&str, &str)| {
        format!("{{\"op\":\"set\",\"key\":\"{key}\",\"value\":\"{value}\"}}\n")
    };
    let mut lines: String = before.iter().map(set).collect();
    lines += &format!("{{\"id\":1,\"op\":\"ask\",\"text\":\"{letter}\"}}\n");
    lines += &set(&("max_tokens", "12"));
    lines += "{\"id\":2,\"op\":\"ask\",\"text\":\"and then?\"}\n";
    let all = program(vec![Step::Type(lines.into_bytes().leak())]);
    [1, 2].map(|id| {
        let own = all.iter().filter(|event| event["id"] == id);
        let own: Vec<Value> = own.cloned().collect();
        (text_of(&own), own.last().expect("an end").clone())
    })
}

/// What a person has seen is what the model has in view, as after an answer that ended there by its limit.
#[test]
fn an_answer_that_repeated_itself_stays_in_the_conversation_as_it_was_shown() {
    let repeating = ('a'..='h').find_map(|letter| {
        let answers = two_answers(letter, &[("max_tokens", "380")]);
        (answers[0].1["finish_reason"] == "repetition").then_some((letter, answers))
    });
    let (letter, [first, second]) = repeating.expect("an answer that repeats itself");
    let n_tokens = first.1["usage"]["completion_tokens"].to_string();
    let before = [("stop_repetition", "off"), ("max_tokens", &n_tokens)];
    let [limited, after] = two_answers(letter, &before);
    assert_eq!(limited.1["finish_reason"], "length");
    assert_eq!([&limited.0, &after.0], [&first.0, &second.0]);
    let prompt_tokens = |end: &Value| end["usage"]["prompt_tokens"].clone();
    assert_eq!(prompt_tokens(&after.1), prompt_tokens(&second.1));
}

#[test]
fn a_section_of_the_options_file_holds_while_its_model_is_loaded() {
    let other = synth::bytes(&Shape::qwen2(), GgmlType::F16);
    let files = vec![("tiny.gguf", tiny()), ("other.gguf", other)];
    let lines = b"1\r/set top_k\r/load other\r/set top_k\r/set top_k 3\r/load tiny\r/set top_k\r";
    let mut board = Board::new(files, vec![Step::Type(lines)]);
    board.options = Some("top_k = 9\n[other]\ntop_k = 5\ncontext = 96\nbaud = 9600\n");
    let shown = board.play().0;
    let values: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("top_k "))
        .map(str::trim)
        .collect();
    assert!(
        shown.contains("pilm.txt: baud is no setting of a model"),
        "{shown}"
    );
    assert_eq!(values, ["9", "5", "3", "3"], "{shown}");
    assert!(shown.contains("context 96 in"), "{shown}");
}
