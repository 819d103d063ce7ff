//! `/sd`, the op `sd` and `board.log`: what a remote tester reports of the card slot.

use ops::GgmlType;
use pilm::synth::{self, Shape};
use protocol::event::{ErrorCode, Finish, Sd, SdRead, SdTransfer};
use protocol::request;
use protocol::{Event, Op};
use qemu::Machine;
use std::fs;
use std::time::Duration;
use tests::boot::{assert_clean_log, boot, kernel, machine, session};
use tests::card::{Card, MODEL};
use tests::monitor::MonitorSocket;
use tests::requests::{complete, events, ids, tokens};
use xtask::card::CardFile;
use xtask::session::{PROMPT, Session};

const REPLY: Duration = Duration::from_secs(120);
const PIO_BYTES: u64 = 8 << 20;

fn card() -> Card {
    let model = synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0);
    Card::with(&[CardFile::bytes(MODEL, model)])
}

fn sd() -> Op {
    Op::Sd(request::Sd {})
}

fn type_line(pi: &mut Session, line: &str) -> String {
    pi.qemu().send_line(line).unwrap();
    pi.qemu().expect(PROMPT, REPLY).unwrap()
}

/// What controller and card say, and the one measurement that there is without DMA.
fn report(pi: &mut Session) -> (Sd, SdRead) {
    let (events, done) = events(pi, sd());
    assert_eq!(done.finish_reason, Some(Finish::Stop));
    match events.as_slice() {
        [Event::Sd(sd), Event::SdRead(read)] => ((**sd).clone(), (**read).clone()),
        events => panic!("{events:?}"),
    }
}

#[test]
fn controller_and_card_are_told_and_nothing_is_written() {
    for (name, on_emmc2) in [("EMMC", false), ("EMMC2", true)] {
        let card = card();
        let before = fs::read(card.path()).unwrap();
        let machine = machine(&card);
        let machine = if on_emmc2 {
            machine.on_emmc2()
        } else {
            machine
        };
        let mut pi = session(&machine);
        let (prompt, three) = (ids(&[5, 6, 7]), tokens(3));
        let answer = complete(&mut pi, prompt.clone(), three.clone()).0;
        let (sd, read) = report(&mut pi);
        assert_eq!((&*sd.controller, &*sd.capabilities[0]), (name, "052134b4"));
        let (left, now) = (sd.words_as_left.unwrap(), sd.words);
        // After a reset of the machine nothing is powered, and no clock runs.
        assert_eq!(
            (&*left.host_power, &*left.clock_reset),
            ("00000000", "00000000")
        );
        assert_eq!(&now.host_power[4..], "0f06");
        let known = sd.card.expect("it was started");
        // Manufacturer, "XY" and "QEMU!".
        assert!(known.cid.starts_with("aa585951454d5521"), "{}", known.cid);
        assert_eq!(
            (known.csd.len(), known.scr.map(|scr| scr.len())),
            (32, Some(16))
        );
        assert_eq!(known.switch_status.map(|status| status.len()), Some(128));
        assert_eq!(known.bytes, before.len() as u64);
        assert_eq!(known.pio_reason.as_deref(), Some("no_engine"));
        assert_eq!(
            (read.transfer, read.read_bytes),
            (SdTransfer::Pio, PIO_BYTES)
        );
        assert_eq!(
            (read.emulated, read.mb_per_s, read.compared_bytes),
            (true, None, 0)
        );
        assert!(read.read_s > 0.0);
        let text = type_line(&mut pi, "/sd");
        assert!(text.contains("PIO: not on a DMA controller"), "{text}");
        assert!(text.contains("8.0 MiB in "), "{text}");
        assert!(
            text.contains("(emulated: no speed)") && !text.contains("MB/s"),
            "{text}"
        );
        // The model stays, and the card's files are found again.
        assert_eq!(complete(&mut pi, prompt, three).0, answer);
        let text = type_line(&mut pi, "/models");
        assert!(text.contains(MODEL), "{text}");
        assert_clean_log(&mut pi);
        drop(pi);
        assert!(
            fs::read(card.path()).unwrap() == before,
            "the card is as it was"
        );
    }
}

#[test]
fn a_card_without_files_is_told_too() {
    let mut pi = boot(&Card::blank());
    let (sd, read) = report(&mut pi);
    assert!(sd.card.is_some());
    assert_eq!(read.read_bytes, PIO_BYTES);
    assert_clean_log(&mut pi);
}

#[test]
fn an_empty_slot_ends_in_one_clear_line() {
    let mut pi = session(&Machine::new(&kernel().image_path));
    let text = type_line(&mut pi, "/sd");
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let said = lines.iter().rfind(|line| !line.starts_with('>')).unwrap();
    assert!(
        said.contains("no card answers in the SD slot: insert one"),
        "{text}"
    );
    assert!(text.contains("as left  0x24 "), "{text}");
    let error = pi.ask(sd()).expect_err("there is no card");
    let error: protocol::event::Error<'_> = error.downcast().unwrap();
    assert_eq!(error.code, ErrorCode::Card);
    let text = type_line(&mut pi, "/help");
    assert!(text.contains("/sd "), "{text}");
    assert_clean_log(&mut pi);
}

/// It starts the card anew each time: another one may be in the slot.
#[test]
fn a_card_that_was_pulled_out_is_not_told_of() {
    let card = card();
    let socket = MonitorSocket::new(card.path());
    let mut pi = session(&socket.attach(machine(&card)));
    let mut hand = socket.connect();
    assert!(report(&mut pi).0.card.is_some());
    hand.eject();
    let text = type_line(&mut pi, "/sd");
    assert!(
        text.contains("no card answers") && !text.contains("CID"),
        "{text}"
    );
    hand.insert(card.path());
    assert!(report(&mut pi).0.card.is_some());
}

#[test]
fn the_log_of_a_board_has_it_before_the_prompt() {
    let card = card();
    let pi = session(&machine(&card).append("board.log"));
    let text = pi.boot_text();
    for line in [
        "EMMC2 0x24 0x",
        "EMMC2 0x28 0x",
        "EMMC2 0x2c 0x",
        "EMMC2 0x3c 0x",
        "EMMC2 0x44 0x",
        "EMMC2 0xfc 0x",
        "Emmc2 Some(",
        "slot     EMMC, version ",
        "as left  0x24 ",
        "CID      aa585951454d5521",
        "CSD      ",
        "SCR      ",
        "CMD6     ",
    ] {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
}
