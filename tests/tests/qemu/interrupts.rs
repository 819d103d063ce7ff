//! A board on which no interrupt reaches the cores: the console looks for its bytes instead.

use ops::GgmlType;
use pilm::synth::Shape;
use std::time::Duration;
use tests::boot::{machine, session};
use tests::card::Card;
use xtask::session::{PROMPT, Session};

const REPLY: Duration = Duration::from_secs(60);
const CTRL_C: &[u8] = b"\x03";
const LINE: &str = "no interrupts arrive: keys are polled";

fn start(option: &str) -> (Card, Session) {
    let card = Card::with_model(&Shape::llama_grouped(), GgmlType::Q8_0);
    let session = session(&machine(&card).append(option));
    (card, session)
}

/// Types a line; what the console says up to its next prompt.
fn type_line(pi: &mut Session, line: &str) -> String {
    pi.qemu().send_line(line).unwrap();
    pi.qemu().expect(PROMPT, REPLY).unwrap()
}

#[test]
fn without_interrupts_the_console_answers() {
    let (_card, mut pi) = start("board.fail=interrupts board.log");
    let text = pi.qemu().transcript();
    assert_eq!(text.matches(LINE).count(), 1, "{text}");
    assert!(text.contains("interrupts false"), "{text}");
    let help = type_line(&mut pi, "/help");
    assert!(help.contains("/reboot"), "{help}");
    type_line(&mut pi, "/set max_tokens 8");
    let answer = type_line(&mut pi, "Hello there");
    assert!(answer.contains("tokens"), "no status line in:\n{answer}");
}

#[test]
fn without_interrupts_ctrl_c_stops_an_answer() {
    let (_card, mut pi) = start("board.fail=interrupts");
    type_line(&mut pi, "/set max_tokens full");
    // the answer must not end of itself
    type_line(&mut pi, "/set temperature 0");
    type_line(&mut pi, "/set stop_repetition off");
    pi.qemu().send_line("/raw Once upon a time").unwrap();
    pi.qemu().expect("time", REPLY).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    pi.qemu().send(CTRL_C).unwrap();
    let rest = pi.qemu().expect(PROMPT, REPLY).unwrap();
    assert!(rest.contains("stopped"), "{rest}");
}

#[test]
fn with_interrupts_nothing_is_said_of_them() {
    let (_card, mut pi) = start("board.log");
    let text = pi.qemu().transcript();
    assert!(!text.contains(LINE), "{text}");
    assert!(text.contains("interrupts true"), "{text}");
}
