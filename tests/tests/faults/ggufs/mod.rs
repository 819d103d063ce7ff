//! Model files. Each is the sound one with something changed.

mod headers;
mod models;
mod tensors;
mod tokenizers;

use crate::board::{card_with, tiny, with_board};
use llm::gguf::Gguf;
use ops::GgmlType;
use pilm::editable::Editable;
use pilm::gguf_writer::Value;
use std::ops::Range;
use xtask::card::CardFile;

/// What is said of a file that is refused by its header. The model before stays.
fn refused(file: Vec<u8>, reason: &str) {
    let card = card_with(&[CardFile::bytes("Bad.gguf", file)]);
    let line = format!("Bad.gguf: {reason}");
    with_board(|board| {
        board.insert(&card);
        assert_eq!(board.types_line("/load bad"), [line.as_str()]);
        let load = r#"{"op":"load","name":"bad","id":"l"}"#;
        board.refuses(load, "l", "load_failed", &line);
    });
}

/// What is said of a file whose weights are damaged. The model before is gone by then.
fn damaged(file: Vec<u8>, reason: &str) {
    let card = card_with(&[CardFile::bytes("Bad.gguf", file)]);
    let line = format!("Bad.gguf: {reason}");
    with_board(|board| {
        board.insert(&card);
        let gone = "no model is loaded; /models lists those on the card";
        assert_eq!(board.types_line("/load bad"), [line.as_str(), gone]);
        board.has_lost_its_model();
    });
}

/// The sound model with `bytes` at `at`.
fn patched(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = tiny();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// Where `text` stands for the first time.
fn place_of(text: &str) -> usize {
    let file = tiny();
    let mut windows = file.windows(text.len());
    let at = windows.position(|window| window == text.as_bytes());
    at.expect("the text is in the file")
}

/// The sound model with `to` in place of the first `from`.
fn renamed(from: &str, to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    patched(place_of(from), to)
}

/// The sound model, written again after `change`.
fn edited(change: impl FnOnce(&mut Editable)) -> Vec<u8> {
    let mut model = Editable::parse(&tiny()).unwrap();
    change(&mut model);
    model.write(GgmlType::Q8_0).unwrap()
}

/// The sound model with another value of a key of its architecture.
fn with_key(key: &str, value: Value) -> Vec<u8> {
    edited(|model| model.set(key, value))
}

/// Where the data of a tensor is.
fn data_of(tensor: &str) -> Range<usize> {
    let file = tiny();
    let gguf = Gguf::parse(&file, file.len() as u64).unwrap();
    let info = gguf.tensor(tensor).unwrap();
    let start = info.offset_bytes as usize;
    start..start + info.len_bytes as usize
}

/// Where the tensor table has what follows the name of `tensor`: dimensions, type, offset.
fn entry_of(tensor: &str) -> usize {
    place_of(tensor) + tensor.len()
}
