//! The slot, and what is in it: nothing, or no card with models.

use crate::board::{card_with, crc32c, tiny, with_board};
use tests::card::{Card, MODEL};
use xtask::card::CardFile;

const NOTHING_IN: &str = "no card answers in the SD slot: insert one and try again";

/// What is said of a card when its models are asked for, to a person and to a program. The model before stays.
pub fn fault(card: &Card, line: &str) {
    with_board(|board| {
        board.insert(card);
        assert_eq!(board.types_line("/models"), [line]);
        board.refuses(r#"{"op":"models","id":1}"#, 1, "card", line);
    });
}

#[test]
fn no_card() {
    with_board(|board| {
        board.eject();
        assert_eq!(board.types_line("/models"), [NOTHING_IN]);
        board.refuses(r#"{"op":"models","id":1}"#, 1, "card", NOTHING_IN);
    });
}

#[test]
fn a_card_pulled_out_before_a_load() {
    with_board(|board| {
        let card = card_with(&[]);
        board.insert(&card);
        board.types_line("/models");
        board.eject();
        assert_eq!(board.types_line(&format!("/load {MODEL}")), [NOTHING_IN]);
        board.insert(&card);
        let loaded = board.types_line(&format!("/load {MODEL}"));
        assert!(
            loaded[0].starts_with(&format!("model   {MODEL}: ")),
            "{loaded:?}"
        );
    });
}

#[test]
fn a_card_pulled_out_before_a_perplexity() {
    with_board(|board| {
        board.eject();
        assert_eq!(board.types_line("/ppl text.txt"), [NOTHING_IN]);
    });
}

#[test]
fn a_card_without_files() {
    fault(
        &Card::with(&[]),
        "no *.gguf file in the card's root directory (files there: 0): copy a model to it",
    );
}

/// A Mac leaves such a file beside every file that it copies.
#[test]
fn a_card_with_files_and_no_model() {
    let files = [
        CardFile::bytes("readme.txt", *b"hello"),
        CardFile::bytes("._Tiny.gguf", *b"Mac OS X"),
    ];
    fault(
        &Card::with(&files),
        "no *.gguf file in the card's root directory (files there: 2): copy a model to it",
    );
}

/// A folder is no place that is looked into.
#[test]
fn a_model_in_a_folder() {
    let files = [CardFile::bytes("models/Tiny.gguf", tiny())];
    fault(
        &Card::with(&files),
        "no *.gguf file in the card's root directory (files there: 0): copy a model to it",
    );
}

/// A model beside a checksum file with `text`.
fn with_checksum(text: &[u8]) -> Card {
    card_with(&[
        CardFile::bytes("Copy.gguf", tiny()),
        CardFile::bytes("Copy.gguf.crc32c", text),
    ])
}

#[test]
fn a_checksum_that_differs() {
    let found = crc32c(&tiny());
    let line = format!(
        "Copy.gguf is damaged: its CRC-32C is {found:08x}, its checksum file says {:08x}: copy it again",
        !found
    );
    let card = with_checksum(format!("{:08x}  Copy.gguf\n", !found).as_bytes());
    with_board(|board| {
        board.insert(&card);
        let gone = "no model is loaded; /models lists those on the card";
        assert_eq!(board.types_line("/load copy"), [line.as_str(), gone]);
        board.has_lost_its_model();
    });
}

/// What is said of a load that is refused on account of the checksum file. The model before stays.
fn no_checksum(text: &[u8], line: &str) {
    let card = with_checksum(text);
    with_board(|board| {
        board.insert(&card);
        assert_eq!(board.types_line("/load copy"), [line]);
        board.refuses(r#"{"op":"load","name":"copy","id":1}"#, 1, "card", line);
    });
}

#[test]
fn a_checksum_file_without_a_checksum() {
    no_checksum(
        b"see the web page",
        "Copy.gguf.crc32c does not begin with eight hexadecimal digits: write it again or delete it",
    );
}

#[test]
fn an_empty_checksum_file() {
    no_checksum(
        b"",
        "Copy.gguf.crc32c does not begin with eight hexadecimal digits: write it again or delete it",
    );
}

#[test]
fn a_checksum_file_as_long_as_a_book() {
    no_checksum(
        &[b'0'; 1025],
        "Copy.gguf.crc32c has 1025 bytes: no more than 1024 are read, shorten it",
    );
}
