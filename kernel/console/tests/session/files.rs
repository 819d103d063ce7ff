//! What the card holds, models and settings, and what is said where it lacks them.

use crate::bench_board::{Board, Step};
use crate::{events, person, tiny};
use console::Exit;
use ops::GgmlType;
use pilm::synth::{self, Shape};
use serde_json::Value;

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
