//! Bytes of a person's line, and of no person's.

use crate::board::{card_with, with_board};
use xtask::card::CardFile;

/// What is shown after `bytes` and the return key.
fn line(bytes: &[u8], expected: &[&str]) {
    with_board(|board| assert_eq!(board.types(&[bytes, b"\r"].concat()), expected));
}

const NOT_UTF8: &str =
    "nothing was sent. Set the terminal to UTF-8; the up key gives the line back";

#[test]
fn a_byte_that_no_character_has() {
    line(
        b"a\xFFb",
        &[&format!(
            "not UTF-8: 1 byte (the first is 0xFF); {NOT_UTF8}"
        )],
    );
}

#[test]
fn a_character_cut_off() {
    line(
        b"a\xE2\x82",
        &[&format!(
            "not UTF-8: 2 bytes (the first is 0xE2); {NOT_UTF8}"
        )],
    );
}

#[test]
fn a_surrogate() {
    line(
        b"\xED\xA0\x80",
        &[&format!(
            "not UTF-8: 3 bytes (the first is 0xED); {NOT_UTF8}"
        )],
    );
}

#[test]
fn a_character_longer_than_need_be() {
    line(
        b"\xC0\xAF",
        &[&format!(
            "not UTF-8: 2 bytes (the first is 0xC0); {NOT_UTF8}"
        )],
    );
}

#[test]
fn a_line_longer_than_it_may_be() {
    with_board(|board| {
        let said = board.types(&[&[b'a'; 32_770][..], b"\r"].concat());
        // the line itself is shown whole
        let last = said.last().map(String::as_str);
        let line = "the line has 2 bytes more than the 32768 that it may have; nothing was sent. The up key gives its \
                    beginning back";
        assert_eq!(last, Some(line));
    });
}

#[test]
fn a_command_that_does_not_exist() {
    line(
        b"/inof",
        &["no command is called /inof; did you mean /info? /help lists all"],
    );
}

#[test]
fn a_command_like_no_other() {
    line(
        b"/xyzzy",
        &[
            "no command is called /xyzzy; /help lists all. A space before the / sends it to the model",
        ],
    );
}

#[test]
fn a_command_without_what_it_needs() {
    line(b"/load", &["usage: /load NAME"]);
}

#[test]
fn a_command_with_more_than_it_takes() {
    line(b"/reset now", &["\"now\" cannot be read; usage: /reset"]);
}

#[test]
fn a_number_that_is_none() {
    line(
        b"/bench many",
        &["\"many\" cannot be read; usage: /bench [RUNS]"],
    );
}

#[test]
fn a_number_out_of_its_range() {
    line(b"/bench 0", &["\"runs\" must be from 1 to 1000"]);
}

#[test]
fn a_setting_that_does_not_exist() {
    with_board(|board| {
        let said = board.types_line("/set heat 1");
        assert!(
            said[0].starts_with("no setting is called \"heat\"; there are "),
            "{said:?}"
        );
        assert_eq!(said.len(), 1, "{said:?}");
    });
}

#[test]
fn a_value_that_a_setting_cannot_have() {
    line(
        b"/set temperature nan",
        &["temperature cannot be \"nan\": it takes a number from 0 to 5, or default"],
    );
}

#[test]
fn a_model_that_is_not_on_the_card() {
    let card = card_with(&[]);
    with_board(|board| {
        board.insert(&card);
        let line = "no model file is called \"nothing\"; there are Tiny.Q8_0.gguf";
        assert_eq!(board.types_line("/load nothing"), [line]);
        board.refuses(
            r#"{"id":1,"op":"load","name":"nothing"}"#,
            1,
            "no_such_model",
            line,
        );
    });
}

#[test]
fn a_part_of_two_names() {
    let card = card_with(&[CardFile::bytes("Tiny.other.gguf", *b"GGUF")]);
    with_board(|board| {
        board.insert(&card);
        let line = "\"tiny\" fits Tiny.Q8_0.gguf Tiny.other.gguf: say more of the name";
        assert_eq!(board.types_line("/load tiny"), [line]);
    });
}

/// What answers byte 3 beside the prompt, for programs that synchronise with it.
const READY: &str = r#"{"id":null,"event":"ready","model":"Tiny.Q8_0.gguf"}"#;

#[test]
fn ctrl_c_on_half_a_line() {
    with_board(|board| assert_eq!(board.types(b"half a line\x03"), [READY]));
}

#[test]
fn ctrl_c_in_half_a_request() {
    with_board(|board| {
        assert_eq!(board.types(b"{\"op\":\"set\",\"key\":\x03"), [READY]);
    });
}

#[test]
fn ctrl_d_on_an_empty_line() {
    with_board(|board| {
        let line = "/reboot restarts the board; to leave, close the terminal program";
        assert_eq!(board.types(b"\x04"), [line]);
    });
}

#[test]
fn control_characters_that_are_no_keys() {
    let bytes = b"\0\x07\x0f\x12\x14\x16\x18\x1a\x1c\x1d\x1e\x1f\r";
    with_board(|board| assert_eq!(board.types(bytes), [""; 0]));
}

#[test]
fn a_sequence_without_an_end() {
    with_board(|board| {
        board.types(&[b"\x1b[", &[b'1'; 300][..], b"\x03"].concat());
    });
}

#[test]
fn a_paste_without_an_end() {
    with_board(|board| {
        board.types(b"\x1b[200~one\rtwo\r\x03");
    });
}

#[test]
fn a_line_of_another_speed() {
    with_board(|board| {
        let noise: Vec<u8> = (0..200u32).map(|i| 0x80 | (i * 37 % 128) as u8).collect();
        board.types(&[&noise[..], b"\x03"].concat());
    });
}
