//! Perplexity on a text of the card.

use crate::bench_board::{Board, Step};
use crate::{events, tiny};
use llm::engine::LoadOptions;
use llm::model_file::ModelFile;
use pilm::perplexity::{Perplexity, perplexity};
use pilm::session::{Memory, Session};
use pilm::threads::Threads;
use serde_json::Value;

fn text() -> String {
    "The river ran down from the hills. \n\nWhat did it carry?  ".repeat(60)
}

fn board(steps: Vec<Step>) -> Board {
    let mut board = Board::new(vec![("tiny.gguf", tiny())], steps);
    board.texts = vec![
        ("Text.txt", text().into_bytes()),
        ("short.txt", b"A short text.".to_vec()),
        ("binary.txt", b"ab\xff".to_vec()),
    ];
    board
}

/// What the host tool measures.
fn expected(n_chunks: usize) -> Perplexity {
    let options = LoadOptions {
        context_len: Some(512),
        n_logits: 32,
        ..LoadOptions::default()
    };
    let model = tiny();
    let mut file = ModelFile::open(model.as_slice()).expect("a model");
    let mut memory = Memory::for_model(&file, &options, &Threads::new(1));
    let mut session = Session::load(
        &mut file,
        &mut memory,
        &options,
        Threads::new(1),
        &mut |_, _| {},
    )
    .expect("a model");
    let ids = session.engine.tokenizer().encode(&text(), false);
    let ids: Vec<u32> = ids.iter().map(|id| id.0).collect();
    assert!(ids.len() >= 2 * 512, "{} tokens", ids.len());
    let sessions = core::slice::from_mut(&mut session);
    let all = perplexity(None, sessions, &ids, 512, n_chunks, &mut |_, _| Ok(()));
    all.expect("a perplexity")[0]
}

#[test]
fn a_program_gets_the_numbers_of_the_host_tool() {
    let mut board = board(vec![Step::Type(
        b"{\"id\":1,\"op\":\"ppl\",\"file\":\"Text.txt\",\"chunks\":2}\n",
    )]);
    board.options = Some("quiet = on");
    let events = events(&board.play().0);
    assert_eq!(events.len(), 3, "{events:?}");
    for (n, event) in events[..2].iter().enumerate() {
        let expected = expected(n + 1);
        assert_eq!(event["event"], "ppl");
        assert_eq!(
            (&event["chunk"], &event["chunks"]),
            (&Value::from(n + 1), &Value::from(2))
        );
        assert_eq!(event["tokens"].as_u64(), Some(255 * (n as u64 + 1)));
        assert_eq!(event["mean_nll"].as_f64(), Some(expected.nll.mean()));
        assert_eq!(event["perplexity"].as_f64(), Some(expected.value()));
        assert_eq!(
            event["standard_error"].as_f64(),
            Some(expected.standard_error())
        );
    }
    assert_eq!(events[2]["event"], "done");
    assert_eq!(events[2]["finish_reason"], "stop");
}

#[test]
fn a_person_sees_every_chunk_and_that_the_conversation_is_gone() {
    let steps = b"/set max_tokens 2\rhello\r/ppl Text.txt\r/info\r/raw a\r";
    let (shown, _) = board(vec![Step::Type(steps)]).play();
    let chunks = shown.matches(": perplexity ").count();
    assert!(chunks >= 2, "{shown}");
    assert!(shown.contains("the conversation is forgotten"), "{shown}");
    let all = expected(chunks);
    let line = format!(
        "perplexity   {:.4} +- {:.4} over {} tokens",
        all.value(),
        all.standard_error(),
        255 * chunks
    );
    assert!(shown.contains(&line), "{line} in\n{shown}");
    assert!(shown.contains("[cut at max_tokens"), "{shown}");
}

#[test]
fn it_can_be_stopped() {
    let (shown, _) = board(vec![
        Step::Type(b"/ppl Text.txt\r"),
        Step::AtLook(20, b"\x03"),
        Step::Type(b"/set max_tokens 2\r/raw a\r"),
    ])
    .play();
    assert!(shown.contains("\nstopped\n"), "{shown}");
    assert!(!shown.contains("chunk 1 of"), "{shown}");
    assert!(shown.contains("[cut at max_tokens"), "{shown}");

    let mut board = board(vec![
        Step::Type(b"{\"id\":1,\"op\":\"ppl\",\"file\":\"Text.txt\"}\n"),
        Step::AtLook(60, b"{\"id\":1,\"op\":\"abort\"}\n"),
    ]);
    board.options = Some("quiet = on");
    let events = events(&board.play().0);
    let reasons: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "done")
        .map(|event| &event["finish_reason"])
        .collect();
    assert_eq!(reasons, ["abort"], "{events:?}");
}

#[test]
fn what_stands_in_the_way_is_one_line() {
    let mut board = board(vec![Step::Type(
        b"{\"id\":1,\"op\":\"ppl\",\"file\":\"none.txt\"}\n\
          {\"id\":2,\"op\":\"ppl\",\"file\":\"binary.txt\"}\n\
          {\"id\":3,\"op\":\"ppl\",\"file\":\"short.txt\"}\n\
          {\"id\":4,\"op\":\"ppl\",\"file\":\"Text.txt\",\"chunks\":0}\n\
          {\"id\":5,\"op\":\"ppl\"}\n\
          /set context 511\r/load tiny\r\
          {\"id\":6,\"op\":\"ppl\",\"file\":\"Text.txt\"}\n\
          /ppl\r",
    )]);
    board.options = Some("quiet = on");
    let (shown, _) = board.play();
    let events = events(&shown);
    let codes: Vec<&str> = events
        .iter()
        .filter_map(|event| event["code"].as_str())
        .collect();
    let expected = [
        "no_such_file",
        "bad_file",
        "bad_file",
        "bad_value",
        "missing_field",
        "context_too_short",
    ];
    assert_eq!(codes, expected, "{events:?}");
    let says = |n: usize, words: &str| {
        let message = events[n]["message"].as_str().unwrap_or_default();
        assert!(message.contains(words), "{message}");
    };
    says(0, "no file is called \"none.txt\"");
    says(1, "is not UTF-8 at byte 2");
    says(2, "a chunk has 512");
    says(5, "the context takes 511 tokens");
    assert!(shown.contains("usage: /ppl FILE"), "{shown}");
}

#[test]
fn a_text_that_the_heap_might_not_hold_is_refused() {
    let mut board = board(vec![Step::Type(b"/ppl Text.txt\r")]);
    board.health.heap_bytes = Some(40_000);
    board.health.heap_used_bytes = Some(10_000);
    let (shown, _) = board.play();
    assert!(shown.contains("and 30000 are free: shorten it"), "{shown}");
    assert!(!shown.contains("perplexity "), "{shown}");
}
