//! Whole sessions on the host: tiny models, a scripted person or program.

mod bench_board;
mod checksums;
mod conversation;
mod fake_slot;
mod files;
mod first_contact;
mod kernels;
mod line;
mod log;
mod measurements;
mod perplexity;
mod random;
mod refusals;
mod requests;
mod sd;
mod speculation;
mod wire_load;

use bench_board::{Board, Step};
use ops::GgmlType;
use pilm::synth::{self, Shape};
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
