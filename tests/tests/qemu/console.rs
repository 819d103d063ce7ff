//! A person at the console, with a tiny model.

use ops::GgmlType;
use pilm::synth::Shape;
use std::time::Duration;
use tests::boot::{assert_clean_log, boot};
use tests::card::{Card, MODEL};
use xtask::session::{PROMPT, Session};

const REPLY: Duration = Duration::from_secs(60);
const CTRL_C: &[u8] = b"\x03";

fn card() -> Card {
    Card::with_model(&Shape::llama_grouped(), GgmlType::Q8_0)
}

/// Types a line; what the console says up to its next prompt.
fn type_line(pi: &mut Session, line: &str) -> String {
    pi.qemu().send_line(line).unwrap();
    pi.qemu().expect(PROMPT, REPLY).unwrap()
}

#[test]
fn the_banner_says_what_runs() {
    let card = card();
    let mut pi = boot(&card);
    let banner = pi.boot_text().to_owned();
    for part in ["PiLM", "Raspberry Pi 4B", "4 cores", MODEL, "Q8_0"] {
        assert!(banner.contains(part), "no {part:?} in:\n{banner}");
    }
    assert_clean_log(&mut pi);
}

#[test]
fn a_conversation() {
    let card = card();
    let mut pi = boot(&card);
    type_line(&mut pi, "/set max_tokens 8");
    type_line(&mut pi, "/set seed 5");
    let answer = type_line(&mut pi, "Hello there");
    assert!(
        answer.contains(" | seed 5 | "),
        "no status line in:\n{answer}"
    );
    let info = type_line(&mut pi, "/info");
    assert!(info.contains(MODEL), "{info}");
    type_line(&mut pi, "/reset");
    let again = type_line(&mut pi, "Hello there");
    // the same seed and state: the same text; the line with the times differs
    let text = |answer: &str| {
        let lines: Vec<_> = answer.lines().collect();
        lines[1..lines.len() - 2].join("\n")
    };
    assert_eq!(text(&answer), text(&again));
    assert_clean_log(&mut pi);
}

#[test]
fn commands_that_do_not_exist_get_a_hint() {
    let card = card();
    let mut pi = boot(&card);
    let text = type_line(&mut pi, "/inof");
    assert!(text.contains("did you mean /info"), "{text}");
    let text = type_line(&mut pi, "/set temperature hot");
    assert!(text.contains("temperature cannot be"), "{text}");
    let text = type_line(&mut pi, "/help");
    for command in ["/info", "/reset", "/reboot", "/load", "/set"] {
        assert!(text.contains(command), "no {command} in:\n{text}");
    }
}

#[test]
fn ctrl_c_stops_an_answer_and_drops_a_line() {
    let card = card();
    let mut pi = boot(&card);
    pi.qemu().send_line("/raw Once upon a time").unwrap();
    // into the answer
    pi.qemu().expect("time", REPLY).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    pi.qemu().send(CTRL_C).unwrap();
    pi.qemu().expect(PROMPT, REPLY).unwrap();
    pi.qemu().send(b"/inf").unwrap();
    pi.qemu().send(CTRL_C).unwrap();
    pi.qemu().expect(PROMPT, REPLY).unwrap();
    let text = type_line(&mut pi, "/help");
    assert!(text.contains("/info"), "{text}");
}

#[test]
fn a_line_can_be_edited() {
    let card = card();
    let mut pi = boot(&card);
    // "help" typed wrong: back two, delete one, on
    pi.qemu().send(b"/hexlp\x1b[D\x1b[D\x7f\r").unwrap();
    let text = pi.qemu().expect(PROMPT, REPLY).unwrap();
    assert!(text.contains("/reboot"), "{text}");
    // the line before, from the history
    pi.qemu().send(b"\x1b[A\r").unwrap();
    let text = pi.qemu().expect(PROMPT, REPLY).unwrap();
    assert!(text.contains("/reboot"), "{text}");
}

#[test]
fn bytes_that_are_no_utf8_do_no_harm() {
    let card = card();
    let mut pi = boot(&card);
    type_line(&mut pi, "/set max_tokens 2");
    pi.qemu().send(b"caf\xC3\xA9 \xFF\xC0 \xE2\x82\r").unwrap();
    pi.qemu().expect(PROMPT, REPLY).unwrap();
    let text = type_line(&mut pi, "/help");
    assert!(text.contains("/info"), "{text}");
}

#[test]
fn reboot_restarts_the_board() {
    let card = card();
    let mut pi = boot(&card);
    pi.qemu().send_line("/reboot").unwrap();
    let status = pi.qemu().wait(REPLY).unwrap();
    assert!(status.success());
}
