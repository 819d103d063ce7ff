//! The commands and ops beyond questions and answers, on the board's processor, with tiny models.

use ops::GgmlType;
use pilm::synth::{self, Shape};
use qemu::Machine;
use serde_json::{Value, json};
use std::time::Duration;
use tests::boot::{assert_clean_log, boot, machine, session};
use tests::card::{Card, MODEL};
use tests::host;
use tests::requests::events;
use xtask::card::CardFile;
use xtask::session::{PROMPT, Session};

const REPLY: Duration = Duration::from_secs(300);

fn type_line(pi: &mut Session, line: &str) -> String {
    pi.qemu().send_line(line).unwrap();
    pi.qemu().expect(PROMPT, REPLY).unwrap()
}

fn several() -> Card {
    Card::with(&[
        CardFile::bytes(MODEL, synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0)),
        CardFile::bytes(
            "A Qwen.f16.GGUF",
            synth::bytes(&Shape::qwen2(), GgmlType::F16),
        ),
        CardFile::bytes("._Tiny.gguf", vec![0; 4096]),
        CardFile::bytes(
            "pilm.txt",
            b"# settings\r\nmodel = tiny\r\nsystem = Be brief.\r\nmax_tokens = 4\r\n".to_vec(),
        ),
    ])
}

#[test]
fn every_kernel_is_right_on_the_boards_processor() {
    let card = Card::with_model(&Shape::llama_grouped(), GgmlType::Q8_0);
    let mut pi = boot(&card);
    let events = events(&mut pi, json!({"op": "selftest"}));
    let (done, checks) = events.split_last().unwrap();
    for check in checks {
        assert_eq!(check["right"], true, "{check}");
    }
    let kinds = |kind: &str| checks.iter().filter(|check| check["kind"] == kind).count();
    assert!(kinds("bits") >= 30 && kinds("accuracy") >= 30, "{checks:?}");
    assert_eq!((kinds("card"), kinds("balance")), (1, 2));
    assert_eq!((&done["right"], &done["failed"]), (&json!(true), &json!(0)));
    let text = type_line(&mut pi, "/selftest");
    assert!(text.contains("everything is right"), "{text}");
    assert_clean_log(&mut pi);
}

#[test]
fn measurements_say_that_they_are_emulated() {
    let card = Card::with_model(&Shape::llama_tied(), GgmlType::Q8_0);
    let mut pi = boot(&card);
    let records = events(
        &mut pi,
        json!({"op": "bench", "runs": 2, "prompt_tokens": 8, "tokens": 2}),
    );
    let records: Vec<_> = records
        .iter()
        .filter(|event| event["event"] == "bench")
        .collect();
    assert_eq!(records.len(), 8, "prefill and decode with 1 to 4 cores");
    for record in records {
        let runs = record["runs"].as_u64().unwrap() + record["void_runs"].as_u64().unwrap();
        assert_eq!((runs, &record["emulated"]), (2, &json!(true)), "{record}");
        assert_eq!(record["irqs_in_window"], 0);
        assert!(record.get("tokens_per_s").is_none(), "no speed: {record}");
    }
    let records = events(&mut pi, json!({"op": "membw", "runs": 1, "bytes": 65536}));
    let records: Vec<_> = records
        .iter()
        .filter(|event| event["event"] == "membw")
        .collect();
    assert_eq!(records.len(), 12, "read, write and copy with 1 to 4 cores");
    for record in records {
        assert!(record.get("mean_gb_per_s").is_none(), "no speed: {record}");
    }
    assert_clean_log(&mut pi);
}

#[test]
fn perplexity_on_a_text_of_the_card_is_the_hosts() {
    let model = synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0);
    let text = "The river ran down from the hills. \n\nWhat did it carry?  ".repeat(60);
    let card = Card::with(&[
        CardFile::bytes(MODEL, model.clone()),
        CardFile::bytes("A long text.txt", text.clone().into_bytes()),
        CardFile::bytes("latin.txt", b"caf\xe9".to_vec()),
    ]);
    let mut pi = boot(&card);
    let request = json!({"op": "ppl", "file": "A long text.txt", "chunks": 2});
    let events = events(&mut pi, request);
    assert_eq!(events.len(), 3, "{events:?}");
    let host = host::perplexity_on(&model, &text, 2);
    let last = &events[1];
    assert_eq!((&last["chunk"], &last["tokens"]), (&json!(2), &json!(510)));
    assert_eq!(last["mean_nll"].as_f64(), Some(host.nll.mean()));
    assert_eq!(last["perplexity"].as_f64(), Some(host.value()));
    assert_eq!(last["standard_error"].as_f64(), Some(host.standard_error()));
    assert_eq!(events[2]["finish_reason"], "stop");

    for (line, says) in [
        ("/ppl latin.txt", "is not UTF-8 at byte 3"),
        ("/ppl none.txt", "no file is called \"none.txt\""),
    ] {
        let text = type_line(&mut pi, line);
        assert!(text.contains(says), "{text}");
    }
    assert_clean_log(&mut pi);
}

#[test]
fn the_card_chooses_the_model_and_the_person_another() {
    let card = several();
    let mut pi = boot(&card);
    assert!(pi.boot_text().contains(MODEL), "{}", pi.boot_text());
    let text = type_line(&mut pi, "/models");
    assert!(
        text.contains("A Qwen.f16.GGUF") && !text.contains("._Tiny"),
        "{text}"
    );
    let text = type_line(&mut pi, "/system");
    assert!(text.contains("Be brief."), "{text}");
    let text = type_line(&mut pi, "hello");
    assert!(
        text.contains("4 answer tokens") || text.contains("| context"),
        "{text}"
    );
    let text = type_line(&mut pi, "/load qwen");
    assert!(text.contains("A Qwen.f16.GGUF: qwen2"), "{text}");
    let text = type_line(&mut pi, "/info");
    assert!(
        text.contains("heap") && text.contains("stack 0") && text.contains("qwen2"),
        "{text}"
    );
    let loaded = events(&mut pi, json!({"op": "load", "name": MODEL}));
    assert!(
        loaded
            .iter()
            .any(|event| event["event"] == "loaded" && event["model"]["file"] == MODEL),
        "{loaded:?}"
    );
    assert_clean_log(&mut pi);
}

#[test]
fn several_models_and_no_choice_are_a_menu() {
    let card = Card::with(&[
        CardFile::bytes("a.gguf", synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0)),
        CardFile::bytes("b.gguf", b"no model".to_vec()),
    ]);
    let mut pi = boot(&card);
    assert!(
        pi.boot_text().contains("several models"),
        "{}",
        pi.boot_text()
    );
    let text = type_line(&mut pi, "2");
    assert!(text.contains("b.gguf: "), "{text}");
    let text = type_line(&mut pi, "1");
    assert!(text.contains("a.gguf: llama"), "{text}");
}

#[test]
fn the_command_line_sets_what_it_says() {
    let card = Card::with_model(&Shape::llama_tied(), GgmlType::Q8_0);
    let quiet: Machine =
        machine(&card).append("pilm.quiet pilm.temperature=0.5 pilm.cores=2 pilm.nonsense=1");
    let mut pi = session(&quiet);
    assert!(!pi.boot_text().contains("Raspberry"), "{}", pi.boot_text());
    assert!(
        pi.boot_text().contains("no setting is called \"nonsense\""),
        "{}",
        pi.boot_text()
    );
    let info = events(&mut pi, json!({"op": "info"}));
    assert_eq!(info[0]["settings"]["temperature"], 0.5);
    assert_eq!(info[0]["settings"]["cores"], 2);
}

#[test]
fn a_chat_keeps_what_it_has_seen() {
    let card = Card::with_model(&Shape::llama_tied(), GgmlType::Q8_0);
    let mut pi = boot(&card);
    let ask = |messages: Value| json!({"op": "chat", "messages": messages, "max_tokens": 3});
    let user = |content: &str| json!({"role": "user", "content": content});
    let first = events(&mut pi, ask(json!([user("one")])));
    let text: String = first
        .iter()
        .filter_map(|event| event["text"].as_str())
        .collect();
    let again = json!([user("one"), {"role": "assistant", "content": text}, user("two")]);
    let second = events(&mut pi, ask(again));
    let usage = &second.last().unwrap()["usage"];
    assert!(usage["reused_tokens"].as_u64() > Some(3), "{usage}");
    assert!(
        usage["reused_tokens"].as_u64() < usage["prompt_tokens"].as_u64(),
        "{usage}"
    );

    type_line(&mut pi, "/set context 48");
    type_line(&mut pi, "/load 1");
    let text = type_line(
        &mut pi,
        "once upon a time there was a very long question that fills it",
    );
    let text = text
        + &type_line(
            &mut pi,
            "and another one that does not fit any more, whatever is said",
        );
    assert!(text.contains("the context is full"), "{text}");
}

#[test]
fn a_request_may_have_256_kib_and_no_byte_more() {
    let card = Card::with_model(&Shape::llama_tied(), GgmlType::Q8_0);
    let mut pi = boot(&card);
    let line = |len: usize| {
        let (head, tail) = (r#"{"id":1,"op":"set","key":"nonsense","value":""#, r#""}"#);
        format!("{head}{}{tail}", "x".repeat(len - head.len() - tail.len()))
    };
    for (len, code) in [(256 << 10, "bad_value"), ((256 << 10) + 1, "overlong")] {
        pi.qemu().send_line(&line(len)).unwrap();
        let text = pi.qemu().expect(PROMPT, REPLY).unwrap();
        assert!(
            text.contains(&format!("\"code\":\"{code}\"")),
            "{len}: {text}"
        );
    }
    let text = type_line(&mut pi, "/help");
    assert!(!text.contains("lost"), "{text}");
    assert_clean_log(&mut pi);
}
