//! The commands and ops beyond questions and answers, on the board's processor, with tiny models.

use ops::GgmlType;
use pilm::synth::{self, Shape};
use protocol::event::{CheckKind, Finish};
use protocol::request::{Bench, Chat, Logits, Membw, Message, Ppl, Sampling, Selftest};
use protocol::{Event, Op};
use qemu::Machine;
use std::time::Duration;
use tests::boot::{assert_clean_log, boot, machine, session};
use tests::card::{Card, MODEL};
use tests::host;
use tests::requests::{events, info, load};
use xtask::card::CardFile;
use xtask::session::{PROMPT, Session, token_text};

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
    let (checks, done) = events(&mut pi, Op::Selftest(Selftest {}));
    for check in &checks {
        assert!(
            matches!(check, Event::Selftest(check) if check.right),
            "{check:?}"
        );
    }
    let kinds = |kind| {
        let is_kind = |check: &&_| matches!(check, Event::Selftest(check) if check.kind == kind);
        checks.iter().filter(is_kind).count()
    };
    assert!(
        kinds(CheckKind::Bits) >= 30 && kinds(CheckKind::Accuracy) >= 30,
        "{checks:?}"
    );
    assert_eq!((kinds(CheckKind::Card), kinds(CheckKind::Balance)), (1, 2));
    assert_eq!((done.right, done.failed), (Some(true), Some(0)));
    let text = type_line(&mut pi, "/selftest");
    assert!(text.contains("everything is right"), "{text}");
    assert_clean_log(&mut pi);
}

#[test]
fn measurements_say_that_they_are_emulated() {
    let card = Card::with_model(&Shape::llama_tied(), GgmlType::Q8_0);
    let mut pi = boot(&card);
    let bench = Bench {
        runs: Some(2),
        prompt_tokens: Some(8),
        tokens: Some(2),
    };
    let (records, _) = events(&mut pi, Op::Bench(bench));
    assert_eq!(records.len(), 8, "prefill and decode with 1 to 4 cores");
    for record in &records {
        let Event::Bench(record) = record else {
            panic!("{record:?}");
        };
        let runs = record.samples.runs + record.samples.void_runs;
        assert_eq!((runs, record.emulated), (2, true), "{record:?}");
        assert_eq!(
            record.irqs_in_window,
            (record.samples.runs > 0).then_some(0)
        );
        assert_eq!(record.tokens_per_s, None, "no speed: {record:?}");
    }
    let membw = Membw {
        runs: Some(1),
        bytes: Some(65536),
    };
    let (records, _) = events(&mut pi, Op::Membw(membw));
    assert_eq!(records.len(), 12, "read, write and copy with 1 to 4 cores");
    for record in &records {
        let Event::Membw(record) = record else {
            panic!("{record:?}");
        };
        assert!(record.emulated, "{record:?}");
        assert_eq!(record.mean_gb_per_s, None, "no speed: {record:?}");
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
    let ppl = Ppl {
        file: "A long text.txt".to_owned(),
        chunks: Some(2),
    };
    let (events, done) = events(&mut pi, Op::Ppl(ppl));
    let [Event::Ppl(_), Event::Ppl(last)] = events[..] else {
        panic!("{events:?}");
    };
    let host = host::perplexity_on(&model, &text, 2);
    assert_eq!((last.chunk, last.tokens), (2, 510));
    assert_eq!(last.mean_nll, host.nll.mean());
    assert_eq!(last.perplexity, host.value());
    assert_eq!(last.standard_error, host.standard_error());
    assert_eq!(done.finish_reason, Some(Finish::Stop));

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
    assert_eq!(load(&mut pi, MODEL).model.file, MODEL);
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
    let settings = info(&mut pi).settings;
    assert_eq!((settings.temperature, settings.cores), (Some(0.5), Some(2)));
}

#[test]
fn a_chat_keeps_what_it_has_seen() {
    let card = Card::with_model(&Shape::llama_tied(), GgmlType::Q8_0);
    let mut pi = boot(&card);
    let chat = |messages| {
        let sampling = Sampling {
            max_tokens: Some(3),
            ..Sampling::default()
        };
        Op::Chat(Chat { messages }, sampling, Logits::default())
    };
    let message = |role: &str, content: &str| Message {
        role: role.to_owned(),
        content: content.to_owned(),
    };
    let first = message("user", "one");
    let (answer, _) = events(&mut pi, chat(vec![first.clone()]));
    let text: String = answer.iter().map(token_text).collect();
    let again = vec![first, message("assistant", &text), message("user", "two")];
    let (_, done) = events(&mut pi, chat(again));
    let usage = done.generated.unwrap().usage;
    assert!(usage.reused_tokens > 3, "{usage:?}");
    assert!(usage.reused_tokens < usage.prompt_tokens, "{usage:?}");

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
