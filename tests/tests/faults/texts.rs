//! Texts of the card that are measured.

use crate::board::{Board, card_with, with_board};
use xtask::card::CardFile;

/// What is said of a text whose perplexity is asked for, to a person and to a program.
fn text(bytes: impl Into<Vec<u8>>, reason: &str) {
    let card = card_with(&[CardFile::bytes("text.txt", bytes)]);
    with_board(|board| {
        board.insert(&card);
        let line = format!("\"text.txt\" {reason}");
        ppl(board, "bad_file", &line);
    });
}

fn ppl(board: &mut Board, code: &str, line: &str) {
    assert_eq!(board.types_line("/ppl text.txt"), [line]);
    board.refuses(r#"{"op":"ppl","file":"text.txt","id":5}"#, 5, code, line);
}

#[test]
fn a_text_that_is_not_there() {
    let card = card_with(&[]);
    with_board(|board| {
        board.insert(&card);
        let line = "no file is called \"text.txt\" in the card's top folder: copy the text there";
        ppl(board, "no_such_file", line);
    });
}

#[test]
fn an_empty_text() {
    text("", "has 0 tokens and a chunk has 512: take a longer text");
}

#[test]
fn a_short_text() {
    text("aa", "has 2 tokens and a chunk has 512: take a longer text");
}

#[test]
fn a_text_of_another_encoding() {
    let latin = [&[b'a'; 3000][..], b"caf\xe9 au lait"].concat();
    text(latin, "is not UTF-8 at byte 3003: convert it to UTF-8 text");
}

#[test]
fn a_text_cut_in_a_character() {
    let cut = [&[b'a'; 3000][..], b"\xe2\x82"].concat();
    text(cut, "is not UTF-8 at byte 3000: convert it to UTF-8 text");
}

#[test]
fn a_text_longer_than_is_read() {
    let line = "has 2097153 bytes: no more than 2097152 are read, shorten it";
    text(vec![b'a'; (2 << 20) + 1], line);
}

#[test]
fn a_text_in_a_context_too_short() {
    let card = card_with(&[CardFile::bytes("text.txt", [b'a'; 5000])]);
    with_board(|board| {
        board.insert(&card);
        board.types_line("/set context 100");
        board.types_line("/load Tiny");
        board.types_line("/set context auto");
        let line = "the context takes 100 tokens and a chunk has 512: /set context 512 and /load the model again, or \
                    take a model with a longer context";
        ppl(board, "context_too_short", line);
        board.types_line("/load Tiny");
    });
}

#[test]
fn a_name_of_a_text_with_steering_characters() {
    let card = card_with(&[]);
    with_board(|board| {
        board.insert(&card);
        let line = r#"{"op":"ppl","file":"a\u001b[2J\n.txt","id":5}"#;
        let message = "no file is called \"a\\u{1b}[2J\\n.txt\" in the card's top folder: copy the text there";
        board.refuses(line, 5, "no_such_file", message);
    });
}
