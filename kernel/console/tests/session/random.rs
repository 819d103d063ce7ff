//! Random sessions: whatever comes over the line, Ctrl-C and `/info` are answered.
//!
//! A few with every `cargo test`, all of them as a part of `cargo xtask ci`
//! (`cargo test --package pilm-console --test session -- --ignored`).

use crate::bench_board::{Board, Step};
use crate::tiny;
use serde_json::Value;

/// Each has a seed of its own, from 1: a session that fails can be played again.
const SESSIONS: u64 = 10_000;
const QUICK_SESSIONS: u64 = 400;

/// What a person, a terminal and a program send, whole and cut, and what they never would.
const PIECES: &[&[u8]] = &[
    b"\r",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b"\x00",
    b"\x03",
    b"\x04",
    b"\x0c",
    b"\x15",
    b"\x17",
    b"\x19",
    b"\x7f\x7f\x7f",
    // escape sequences, cut ones, and pastes without an end
    b"\x1b",
    b"\x1b[",
    b"\x1bO",
    b"\x1b[A",
    b"\x1b[B",
    b"\x1b[C",
    b"\x1b[D",
    b"\x1b[1;5D",
    b"\x1b[3~",
    b"\x1b[H",
    b"\x1b[200~",
    b"\x1b[201~",
    b"\x1b[200~one\rtwo\r",
    b"\x1b[99999999999;1;2;3;4m",
    b"\x1b]0;title",
    b"\x1bd",
    // characters of every length and width, and their parts
    "ä".as_bytes(),
    "語".as_bytes(),
    "👍🏽".as_bytes(),
    "e\u{301}".as_bytes(),
    "\u{202e}".as_bytes(),
    "\u{85}".as_bytes(),
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f",
    b"\xed\xa0\x80",
    b"\xff",
    b"\xc0\xaf",
    // what a person types
    b"hello",
    b"12",
    b"/help\r",
    b"/raw once\r",
    b"/raw ",
    b"/set ",
    b"/set columns 20\r",
    b"/set columns 1000\r",
    b"/set temperature 2\r",
    b"/set max_tokens 3\r",
    b"/set speculate on\r",
    b"/set context 40\r",
    b"/system ",
    b"/load tiny\r",
    b"/load x\r",
    b"/models\r",
    b"/reset\r",
    b"/log\r",
    b"/ppl text.txt\r",
    b"/bench 0\r",
    b"/",
    // what a program sends, whole
    b"{\"op\":\"models\"}\n",
    b"{\"op\":\"reset\",\"id\":1}\n",
    b"{\"op\":\"abort\"}\n",
    b"{\"op\":\"abort\",\"id\":2}\r\n",
    b"{\"op\":\"load\",\"name\":\"tiny\",\"id\":2}\n",
    b"{\"op\":\"complete\",\"prompt\":\"once\",\"max_tokens\":4,\"id\":2}\n",
    b"{\"op\":\"complete\",\"ids\":[5,6],\"max_tokens\":2,\"top_logits\":2,\"logits_crc32c\":true,\"id\":3}\n",
    b"{\"op\":\"chat\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_tokens\":3}\n",
    b"{\"op\":\"tokenize\",\"text\":\"\\u00e4\"}\n",
    b"{\"op\":\"set\",\"key\":\"seed\",\"value\":7}\n",
    b"{\"op\":\"info\"} #00000000\n",
    // and in pieces
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b":",
    b",",
    b"\"op\":",
    b"\"id\":",
    b"\"complete\"",
    b"\"prompt\"",
    b"null",
    b"-1e999",
    b"\\ud800",
    b" #",
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// What is sent at once: some pieces, some of them cut, and noise among them.
    fn burst(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..1 + self.below(6) {
            let piece = PIECES[self.below(PIECES.len())];
            match self.below(12) {
                0 => bytes.extend(&piece[..self.below(piece.len() + 1)]),
                1 => bytes.push(self.next() as u8),
                _ => bytes.extend(piece),
            }
        }
        bytes
    }
}

/// A session of its own bursts, then Ctrl-C, `/info` and the op `info`, all at once and at any moment.
fn session(seed: u64, model: &[u8]) -> (Vec<Vec<u8>>, String) {
    let mut random = Random(seed);
    let bursts: Vec<_> = (0..1 + random.below(12)).map(|_| random.burst()).collect();
    let mut sent = bursts.clone();
    sent.push(b"\x03/info\n{\"op\":\"info\",\"id\":\"last\"}\n".to_vec());
    let step = |bytes: Vec<u8>| {
        let bytes: &'static [u8] = bytes.leak();
        match random.below(3) {
            0 => Step::AtLook(1 + random.below(30), bytes),
            _ => Step::Type(bytes),
        }
    };
    let steps = sent.into_iter().map(step).collect();
    // three of four have a file that is no model: the console itself is what is tried
    let files = match seed % 4 {
        0 => vec![("tiny.gguf", model.to_vec())],
        _ => vec![("tiny.gguf", b"GGUF".to_vec())],
    };
    let mut board = Board::new(files, steps);
    board.command_line = "pilm.max_tokens=4";
    board.texts = vec![("text.txt", b"short".to_vec())];
    (bursts, board.play().0)
}

fn assert_answers(seed: u64, model: &[u8]) {
    let (bursts, shown) = session(seed, model);
    let case = || {
        let bursts = bursts.iter().map(|burst| burst.escape_ascii().to_string());
        format!(
            "seed {seed}:\n{}\n{shown}",
            bursts.collect::<Vec<_>>().join("\n")
        )
    };
    let boards = shown.lines().filter(|row| row.starts_with("board "));
    assert_eq!(boards.count(), 2, "the banner and /info, {}", case());
    let events = shown
        .lines()
        .filter(|row| row.starts_with("{\"id\":\"last\""));
    let events: Vec<Value> = events
        .map(|row| serde_json::from_str(row).unwrap_or_else(|_| panic!("{}", case())))
        .collect();
    let names: Vec<_> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["info", "done"], "{}", case());
}

#[test]
fn ctrl_c_and_info_are_answered_after_anything() {
    assert_all_answer(QUICK_SESSIONS);
}

#[test]
#[ignore = "half a minute of two cores: a part of ci"]
fn ctrl_c_and_info_are_answered_after_ten_thousand_sessions() {
    assert_all_answer(SESSIONS);
}

fn assert_all_answer(sessions: u64) {
    let model = tiny();
    let model = model.as_slice();
    std::thread::scope(|scope| {
        for first in 1..=2 {
            let seeds = (first..=sessions).step_by(2);
            scope.spawn(move || seeds.for_each(|seed| assert_answers(seed, model)));
        }
    });
}
