//! Sessions of a person and of a program, line by line, against the recordings in `tests/sessions/`.
//!
//! A recording is its own script: `cargo test -p pilm --test sessions record -- --ignored` plays what it
//! types and writes what came back, for a file in which nothing has come back yet; others stay.

mod mask;
mod script;
mod wire;

use ops::GgmlType;
use pilm::board::Board;
use pilm::synth::{self, Shape};
use std::fs;
use std::path::PathBuf;
use wire::Wire;

/// The recorded sessions.
const NAMES: [&str; 2] = ["console.txt", "json.txt"];

/// Cores of the recorded sessions.
const N_CORES: usize = 2;

/// The words that the kernel is started with.
const COMMAND_LINE: &str = "pilm.columns=1000 pilm.model=a.gguf";

/// Events that tell nothing about cores.
const ANSWERS: [&str; 6] = ["token", "logits", "tokens", "text", "ppl", "error"];

/// Lines shown before a difference.
const CONTEXT_LINES: usize = 6;

fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/sessions");
    folder.join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `script` with what comes back now, on `n_cores` threads.
fn played(script: &str, n_cores: usize) -> String {
    let models = vec![
        ("a.gguf", synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0)),
        ("b-big.gguf", synth::bytes(&Shape::qwen2(), GgmlType::F16)),
        ("broken.gguf", b"GGUF\x03\0".to_vec()),
    ];
    let text = "The river ran down from the hills. \n\nWhat did it carry?  ".repeat(30);
    let texts = vec![
        ("Text.txt", text.into_bytes()),
        ("short.txt", b"A short text.".to_vec()),
        ("binary.txt", b"ab\xff".to_vec()),
    ];
    let steps = script::steps(script);
    let board = Board::new(Wire::new(&steps), COMMAND_LINE, models, texts, n_cores);
    board.run();
    script::record(script, &board.serial().shown())
}

/// The first difference, with the lines before it.
fn difference(recorded: &str, found: &str) -> Option<String> {
    let (recorded, found): (Vec<_>, Vec<_>) = (recorded.lines().collect(), found.lines().collect());
    let at = (0..recorded.len().max(found.len())).find(|&at| recorded.get(at) != found.get(at))?;
    let step = recorded[..at].iter().rfind(|line| line.starts_with('<'));
    let before = recorded[at.saturating_sub(CONTEXT_LINES)..at].join("\n");
    let line = |lines: &[&str]| lines.get(at).copied().unwrap_or("(the end)").to_owned();
    Some(format!(
        "line {}, after {:?}:\n{before}\nrecorded: {}\nfound:    {}",
        at + 1,
        step.unwrap_or(&"the start"),
        line(&recorded),
        line(&found)
    ))
}

fn assert_as_recorded(name: &str) {
    let recorded = read(name);
    assert!(
        recorded.lines().any(|line| line.starts_with("  ")),
        "{name} is not recorded"
    );
    if let Some(difference) = difference(&recorded, &played(&recorded, N_CORES)) {
        panic!("{name}: {difference}");
    }
}

#[test]
fn the_console_answers_as_recorded() {
    assert_as_recorded("console.txt");
}

#[test]
fn the_machine_interface_answers_as_recorded() {
    assert_as_recorded("json.txt");
}

#[test]
fn answers_do_not_depend_on_the_number_of_cores() {
    let recorded = read("json.txt");
    let answers = |text: &str| -> String {
        let is_answer = |line: &&str| {
            ANSWERS
                .iter()
                .any(|name| line.contains(&format!("\"event\":\"{name}\"")))
        };
        text.lines()
            .filter(is_answer)
            .map(|line| format!("{line}\n"))
            .collect()
    };
    let expected = answers(&recorded);
    assert!(expected.lines().count() > 100, "{expected}");
    for n_cores in [1, 4] {
        if let Some(difference) = difference(&expected, &answers(&played(&recorded, n_cores))) {
            panic!("{n_cores} cores: {difference}");
        }
    }
}

#[test]
#[ignore = "writes to the tree: records the sessions of which nothing has come back"]
fn record() {
    for name in NAMES {
        let script = read(name);
        if script.lines().any(|line| line.starts_with("  ")) {
            println!(
                "{name} is recorded already: delete the lines that came back to record it anew"
            );
            continue;
        }
        fs::write(path(name), played(&script, N_CORES))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
