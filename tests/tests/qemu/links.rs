//! The ways to the UART: a client over QEMU's pipes, a pseudo-terminal, lines from a file.

use link::pty::{Pty, carry};
use link::serial::Serial;
use link::{Link, Options};
use ops::GgmlType;
use pilm::synth::Shape;
use protocol::request::{self, Info, Positions};
use protocol::{Event, Op};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tests::boot::machine;
use tests::card::Card;
use tests::requests::{crc32c, likeliest, text, tokens};
use xtask::run::type_lines;

const REPLY: Duration = Duration::from_secs(60);

fn card() -> Card {
    Card::with_model(&Shape::llama_grouped(), GgmlType::Q8_0)
}

#[test]
fn lines_with_checksums_are_answered_so_and_cost_no_heap() {
    let card = card();
    let qemu = machine(&card).boot().unwrap();
    let mut link = Link::new(qemu, Options::default());
    // it waits for the firmware by itself
    link.connect().unwrap();
    let op = Op::Complete(text("One day"), tokens(200), crc32c(Positions::Last));
    let mut n_events = 0;
    let done = link.ask_with(op, &mut |_| n_events += 1).unwrap();
    assert!(n_events >= 400, "{n_events}");
    let generated = done.generated.unwrap();
    assert_eq!(generated.usage.completion_tokens, 200);
    assert_eq!(generated.heap_growth_bytes, Some(0));
    let transport = link.transport();
    transport.send(b"{\"op\":\"info\"}\r").unwrap();
    transport.expect(r#""code":"bad_crc""#, REPLY).unwrap();
}

#[test]
fn programs_come_and_go_on_a_pseudo_terminal() {
    let card = card();
    let machine = machine(&card);
    let mut pty = Pty::open().unwrap();
    let path = pty.path().to_owned();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut qemu = machine.boot().unwrap();
            while !is_over.load(Ordering::Relaxed) {
                carry(&mut qemu, &mut pty, Duration::from_millis(5)).unwrap();
            }
        });
        let mut answers = Vec::new();
        for is_fast in [false, true] {
            let mut link = Link::new(Serial::open(&path, 115_200).unwrap(), Options::default());
            if is_fast {
                let result = link.speed_up();
                is_over.store(result.is_err(), Ordering::Relaxed);
                assert!(result.unwrap(), "the board has said that it cannot");
            }
            let op = Op::Complete(text("One day"), likeliest(40), request::Logits::default());
            let mut events = Vec::new();
            let answered = link.ask_with(op, &mut |event| events.push(event));
            is_over.store(answered.is_err() || !answers.is_empty(), Ordering::Relaxed);
            answered.unwrap();
            answers.push(events);
        }
        assert_eq!(answers[0].len(), 40);
        assert_eq!(answers[0], answers[1]);
    });
}

#[test]
fn lines_from_a_file_are_typed_one_after_another() {
    let card = card();
    let mut qemu = machine(&card).boot().unwrap();
    qemu.expect(xtask::session::PROMPT, REPLY).unwrap();
    let lines = "/set seed 5\n{\"op\":\"set\",\"key\":\"top_k\",\"value\":7}\n\n";
    assert_eq!(type_lines(&mut qemu, lines.as_bytes()).unwrap(), 3);
    let mut link = Link::new(qemu, Options::default());
    let mut settings = Vec::new();
    link.ask_with(Op::Info(Info {}), &mut |event| {
        if let Event::Info(info) = event {
            settings.push((info.settings.seed, info.settings.top_k));
        }
    })
    .unwrap();
    assert_eq!(settings, [(Some(5), 7)]);
}
