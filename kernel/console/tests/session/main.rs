//! Whole sessions on the host: tiny models, a scripted person or program.

mod bench_board;
mod checksums;
mod fake_slot;
mod first_contact;
mod kernels;
mod line;
mod log;
mod perplexity;
mod random;
mod refusals;
mod sd;
mod speculation;
mod wire_load;

use bench_board::{Board, Step};
use console::Exit;
use ops::GgmlType;
use pilm::synth::{self, Shape};
use proptest::prelude::*;
use serde_json::Value;

fn tiny() -> Vec<u8> {
    synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0)
}

fn person(lines: &'static [u8]) -> String {
    Board::new(vec![("tiny.gguf", tiny())], vec![Step::Type(lines)])
        .play()
        .0
}

fn events(shown: &str) -> Vec<Value> {
    shown
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

fn program(steps: Vec<Step>) -> Vec<Value> {
    let mut board = Board::new(vec![("tiny.gguf", tiny())], steps);
    board.options = Some("quiet = on");
    events(&board.play().0)
}

fn text_of(events: &[Value]) -> String {
    events
        .iter()
        .filter_map(|event| event["text"].as_str())
        .collect()
}

#[test]
fn a_person_asks_twice_and_the_context_is_kept() {
    let shown = person(b"/set max_tokens 6\rhello\rand then\r/info\r");
    assert!(shown.contains("PiLM 0.0.0 (test)"), "{shown}");
    assert!(shown.contains("model   tiny.gguf: llama"), "{shown}");
    let status: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("answer tokens"))
        .collect();
    assert_eq!(status.len(), 2, "{shown}");
    assert!(
        !status[0].contains("kept") && status[1].contains("kept)"),
        "{status:?}"
    );
    assert!(shown.contains("tok/s"), "a board has speeds");
    assert!(shown.contains("ChatML"), "{shown}");
}

#[test]
fn a_conversation_is_the_same_as_its_history_sent_at_once() {
    // The second question with the first answer in view, from a person and from a program.
    let shown = person(b"/set temperature 0\r/set max_tokens 8\r/set stats off\rone two\rthree\r");
    let answers: Vec<&str> = shown
        .split("\n> ")
        .skip(4)
        .map(|part| part.split_once('\n').unwrap_or(("", "")).1)
        .collect();
    let first = answers[0].trim_end_matches('\n').to_owned();
    let second = answers[1].trim_end_matches('\n').to_owned();
    let request = serde_json::json!({"op": "chat", "id": 1, "max_tokens": 8, "messages": [
        {"role": "user", "content": "one two"},
        {"role": "assistant", "content": first},
        {"role": "user", "content": "three"},
    ]});
    let line: &'static [u8] = Box::leak(format!("{request}\r").into_boxed_str()).as_bytes();
    let events = program(vec![Step::Type(line)]);
    assert_eq!(text_of(&events), second);
}

#[test]
fn ctrl_c_stops_an_answer_and_the_next_question_works() {
    let steps = vec![
        Step::Type(b"/set columns 1000\r/set ignored 1\r/raw once upon a time\r"),
        Step::AtLook(12, b"\x03"),
        Step::Type(b"/set max_tokens 3\r/raw again\r"),
    ];
    let (shown, _) = Board::new(vec![("tiny.gguf", tiny())], steps).play();
    assert!(shown.contains("[stopped | "), "{shown}");
    assert!(shown.contains("[cut at max_tokens | "), "{shown}");
}

#[test]
fn what_is_typed_during_an_answer_is_answered_next() {
    let steps = vec![
        Step::Type(b"/set max_tokens 20\r/raw abc\r"),
        Step::AtLook(5, b"/system\r"),
    ];
    let (shown, _) = Board::new(vec![("tiny.gguf", tiny())], steps).play();
    let answer_end = shown.find("answer tokens").expect("a status line");
    let system = shown.rfind("> /system").expect("the line is shown");
    assert!(
        answer_end < system,
        "typed ahead does not mix with the answer:\n{shown}"
    );
}

#[test]
fn a_full_context_is_said_and_reset_helps() {
    let shown = person(b"/set context 40\r/load tiny\r/raw once upon a time there was a\rhello\r/set max_tokens 2\r/reset\r/raw a\r");
    assert!(shown.contains("context 40 in f16"), "{shown}");
    assert!(shown.contains("[cut: the context is full"), "{shown}");
    assert!(shown.contains("/reset starts a new"), "{shown}");
    assert!(shown.contains("[cut at max_tokens"), "{shown}");
}

#[test]
fn several_models_are_a_menu() {
    let other = synth::bytes(&Shape::qwen2(), GgmlType::F16);
    let files = vec![
        ("a.gguf", tiny()),
        ("b-big.gguf", other),
        ("broken.gguf", b"GGUF\x03\0".to_vec()),
    ];
    let lines = b"hello\r2\r/models\r/load A\r/load gguf\r/load broken\r/load 9\r/info\r";
    let (shown, _) = Board::new(files, vec![Step::Type(lines)]).play();
    assert!(shown.contains("several models"), "{shown}");
    assert!(shown.contains("no model is loaded"), "{shown}");
    assert!(
        shown.contains("b-big.gguf: qwen2"),
        "a bare number picks from the menu:\n{shown}"
    );
    assert!(shown.contains("(loaded)"), "{shown}");
    assert!(shown.contains("a.gguf: llama"), "{shown}");
    assert!(shown.contains("say more of the name"), "{shown}");
    assert!(shown.contains("broken.gguf: "), "{shown}");
    assert!(shown.contains("no model file is called \"9\""), "{shown}");
    assert!(
        shown.rfind("a.gguf: llama") > shown.find("broken.gguf: "),
        "the model before is still there:\n{shown}"
    );
}

#[test]
fn a_persons_mistake_after_a_programs_load_is_only_that() {
    let shown = person(b"{\"op\":\"load\",\"name\":\"tiny\"}\n/set heat 1\r");
    assert!(shown.contains("no setting is called \"heat\""), "{shown}");
    assert!(!shown.contains("no model is loaded"), "{shown}");
}

#[test]
fn no_card_and_no_model_leave_a_live_console() {
    let mut board = Board::new(Vec::new(), vec![Step::Type(b"hello\r/help\r/models\r")]);
    board.files = None;
    let (shown, _) = board.play();
    assert_eq!(shown.matches("no card in the slot").count(), 2, "{shown}");
    assert!(shown.contains("/reboot"), "{shown}");

    let (shown, exit) = Board::new(Vec::new(), vec![Step::Type(b"/reboot\r")]).play();
    assert!(shown.contains("copy one into its top folder"), "{shown}");
    assert_eq!(exit, Exit::Reboot);
}

#[test]
fn settings_come_from_everywhere_and_mistakes_are_named() {
    let mut board = Board::new(
        vec![("tiny.gguf", tiny())],
        vec![Step::Type(b"/set temperature\r/set top_k 5\r/set top-k\r")],
    );
    board.command_line = "pilm.temperature=1 pilm.top_k=9 pilm.columns=1000 pilm.oops=1";
    board.options = Some("temperature = 0.5\nmodel = tiny\nnonsense\n");
    let (shown, _) = board.play();
    assert!(
        shown.contains("kernel command line: no setting is called \"oops\""),
        "{shown}"
    );
    assert!(
        shown.contains("pilm.txt: line 3 is not NAME = VALUE"),
        "{shown}"
    );
    assert!(shown.contains("temperature     0.5"), "{shown}");
    assert!(shown.contains("top_k           5"), "{shown}");
}

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
fn a_token_reads_one_row_of_an_embedding_that_is_not_the_head() {
    for (shape, row_bytes) in [(Shape::llama_tied(), 0), (Shape::llama_untied(), 68)] {
        let model = synth::bytes(&shape, GgmlType::Q8_0);
        let steps = vec![Step::Type(b"{\"op\":\"info\"}\n")];
        let mut board = Board::new(vec![("tiny.gguf", model)], steps);
        board.options = Some("quiet = on");
        let events = events(&board.play().0);
        let of = |field: &str| events[0]["model"][field].as_u64().expect("a number");
        let rest = of("tensor_bytes") - of("bytes_per_token");
        assert_eq!(rest, (of("vocab_size") - 1) * row_bytes, "{}", shape.name);
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
fn a_file_in_many_pieces_is_to_be_copied_again() {
    let said = |n_pieces| {
        let steps = vec![Step::Type(
            b"{\"id\":1,\"op\":\"load\",\"name\":\"tiny\"}\n",
        )];
        let mut board = Board::new(vec![("tiny.gguf", tiny())], steps);
        board.n_pieces = n_pieces;
        let shown = board.play().0;
        let loaded = events(&shown).into_iter();
        let loaded = loaded.filter(|event| event["event"] == "loaded");
        let pieces: Vec<Value> = loaded
            .map(|event| event["model"]["load_pieces"].clone())
            .collect();
        let notices = shown
            .lines()
            .filter(|line| line.contains("pieces") && !line.starts_with('{'));
        (pieces, notices.map(String::from).collect::<Vec<_>>())
    };
    assert_eq!(said(None), (vec![Value::Null], vec![]));
    assert_eq!(said(Some(1000)), (vec![1000.into()], vec![]));
    let line =
        "tiny.gguf lies on the card in 1001 pieces, which slows its load down: copy it again";
    // At the start, and to the program's load.
    let lines = vec![String::from(line); 2];
    assert_eq!(said(Some(1001)), (vec![1001.into()], lines));
}

#[test]
fn measurements_keep_every_sample_and_end_once() {
    let events = program(vec![Step::Type(
        b"{\"id\":1,\"op\":\"bench\",\"runs\":3,\"prompt_tokens\":8,\"tokens\":2}\n\
          {\"id\":2,\"op\":\"membw\",\"runs\":2,\"bytes\":65536}\n\
          {\"id\":3,\"op\":\"bench\",\"runs\":0}\n\
          {\"id\":4,\"op\":\"bench\",\"tokens\":100000}\n\
          {\"id\":5,\"op\":\"membw\",\"bytes\":1}\n",
    )]);
    let of = |id: u64, name: &str| -> Vec<&Value> {
        events
            .iter()
            .filter(|event| event["id"] == id && event["event"] == name)
            .collect()
    };
    let phases: Vec<&Value> = of(1, "bench").iter().map(|event| &event["phase"]).collect();
    assert_eq!(phases, ["prefill", "decode"]);
    for record in of(1, "bench") {
        assert_eq!(
            record["samples_s"].as_array().map(Vec::len),
            Some(3),
            "{record}"
        );
        assert_eq!(record["reused_tokens"], 0);
        assert_eq!(record["model"], "tiny.gguf");
        assert_eq!(record["kernels"], "int8");
        assert!(record["tokens_per_s"].as_f64() > Some(0.0), "{record}");
    }
    assert_eq!(of(1, "done").len(), 1);
    let actions: Vec<&Value> = of(2, "membw")
        .iter()
        .map(|event| &event["action"])
        .collect();
    assert_eq!(actions, ["read", "write", "copy"]);
    assert_eq!(of(2, "done").len(), 1);
    for id in 3..=5 {
        assert_eq!(of(id, "error")[0]["code"], "bad_value");
    }
}

#[test]
fn a_run_with_an_interrupt_in_it_is_void() {
    let mut board = Board::new(
        vec![("tiny.gguf", tiny())],
        vec![Step::Type(
            b"{\"op\":\"bench\",\"runs\":2,\"prompt_tokens\":4,\"tokens\":2}\n",
        )],
    );
    board.irqs_per_look = 1;
    let events = events(&board.play().0);
    let records: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "bench")
        .collect();
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!(
            (&record["runs"], &record["void_runs"]),
            (&Value::from(0), &Value::from(2))
        );
    }
}

#[test]
fn a_measurement_can_be_stopped() {
    let events = program(vec![
        Step::Type(b"{\"id\":1,\"op\":\"bench\",\"runs\":900,\"prompt_tokens\":8,\"tokens\":2}\n"),
        Step::AtLook(20, b"{\"id\":1,\"op\":\"abort\"}\n"),
    ]);
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "done")
        .collect();
    assert_eq!(done.len(), 1);
    assert_eq!(done[0]["finish_reason"], "abort");
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
