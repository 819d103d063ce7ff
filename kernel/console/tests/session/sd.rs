//! `/sd` and the op `sd`: what controller and card say, and both ways of reading.

use crate::bench_board::{Board, Step};
use crate::fake_slot::FakeSlot;
use crate::{events, tiny};
use serde_json::{Value, json};
use std::cell::RefCell;

const MIB: u64 = 1 << 20;
const PIECE: usize = 2 << 20;

fn board(slot: FakeSlot, steps: Vec<Step>) -> Board {
    let mut board = Board::new(vec![("tiny.gguf", tiny())], steps);
    board.slot = Some(RefCell::new(slot));
    board
}

/// The events that answer a program, and the pieces that were read.
fn program(slot: FakeSlot) -> (Vec<Value>, Vec<(u64, usize, bool)>) {
    let mut board = board(slot, vec![Step::Type(b"{\"id\":1,\"op\":\"sd\"}\n")]);
    board.options = Some("quiet = on");
    let events = events(&board.play().0);
    let slot = board.slot.expect("it has one").into_inner();
    (events, slot.log)
}

/// What a person is shown between the command and the next prompt.
fn person(board: &Board) -> Vec<String> {
    let shown = board.play().0;
    let (_, shown) = shown.split_once("> /sd\n").expect("the command's echo");
    let (shown, _) = shown.split_once("\n> ").expect("a prompt");
    shown.lines().map(String::from).collect()
}

fn of<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events
        .iter()
        .filter(|event| event["event"] == name)
        .collect()
}

#[test]
fn sixty_four_mebibytes_by_dma_and_eight_by_pio_which_are_compared() {
    let (events, log) = program(FakeSlot::new(4 << 30));
    let pieces = (0..32).map(|i| (i * PIECE as u64, PIECE, i < 4));
    assert_eq!(log, pieces.collect::<Vec<_>>());
    let [sd] = of(&events, "sd")[..] else {
        panic!("{events:?}");
    };
    assert_eq!(sd["words_as_left"]["0x28"], "00800f06");
    assert_eq!(sd["words"]["0x2c"], "000e0207");
    assert_eq!(sd["base_clock"]["rate_hz"], Value::Null);
    assert_eq!(sd["card"]["csd"], "400e00325b59000001ff7f800a400000");
    let [dma, pio] = of(&events, "sdread")[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (&dma["transfer"], &pio["transfer"]),
        (&json!("dma"), &json!("pio"))
    );
    assert_eq!(
        (&dma["read_bytes"], &pio["read_bytes"]),
        (&json!(64 * MIB), &json!(8 * MIB))
    );
    assert_eq!((&dma["read_s"], &pio["read_s"]), (&json!(3.2), &json!(1.6)));
    assert_eq!(dma["mb_per_s"], 20.97152);
    assert_eq!((&dma["retries"], &pio["retries"]), (&json!(1), &json!(0)));
    assert_eq!(
        (&pio["compared_bytes"], &pio["differing_bytes"]),
        (&json!(8 * MIB), &json!(0))
    );
    let [done] = of(&events, "done")[..] else {
        panic!("{events:?}");
    };
    assert_eq!(done["finish_reason"], "stop");
}

#[test]
fn no_more_than_the_card_has_is_read() {
    let (events, log) = program(FakeSlot::new(5 * MIB + 512));
    let last = (4 * MIB, MIB as usize + 512, true);
    assert_eq!(log, [(0, PIECE, true), (2 * MIB, PIECE, true), last]);
    assert_eq!(of(&events, "sdread")[0]["read_bytes"], 5 * MIB + 512);
}

#[test]
fn a_person_reads_it_all() {
    let board = board(FakeSlot::new(4 << 30), vec![Step::Type(b"/sd\r")]);
    assert_eq!(
        person(&board),
        [
            "slot     EMMC2, version 1002, capabilities 45ee6432 0000a525",
            "as left  0x24 1fff0000, 0x28 00800f06, 0x2c 000e0107, 0x3c 00000000",
            "now      0x24 1fff0000, 0x28 00000f16, 0x2c 000e0207, 0x3c 00000000",
            "clock    measured 100000496, rate -, highest 200000000 Hz: 100 MHz (measured)",
            "rails    3.3 V on the lines: set, card power: set",
            "OCR      c0ff8000",
            "CID      03534453553332478012345678015700",
            "CSD      400e00325b59000001ff7f800a400000",
            "SCR      0235800000000000",
            "CMD6     not asked for",
            "mode     4096 MiB, 4 lines at 50 MHz (high speed), DMA (identity)",
            "errors   0 reads repeated (0 for CRC errors, 0 for time-outs)",
            "DMA      64.0 MiB in 3.200 s, 20.97 MB/s; 1 reads repeated (1 for CRC errors, 0 for time-outs)",
            "PIO      8.0 MiB in 1.600 s, 5.24 MB/s",
            "compared 8388608 bytes: DMA and PIO bring the same",
        ]
    );
}

#[test]
fn an_emulator_has_times_and_no_speeds_and_no_dma_is_said() {
    let slot = FakeSlot {
        dma_ends: 0,
        ..FakeSlot::new(4 << 30)
    };
    let mut board = board(slot, vec![Step::Type(b"/sd\r{\"id\":1,\"op\":\"sd\"}\r")]);
    board.facts.emulated = true;
    let shown = board.play().0;
    let mode = "mode     4096 MiB, 4 lines at 50 MHz (high speed), PIO: not on a DMA controller\n";
    assert!(shown.contains(mode), "{shown}");
    let row = "PIO      8.0 MiB in 1.600 s (emulated: no speed)\n";
    assert!(shown.contains(row) && !shown.contains("MB/s"), "{shown}");
    assert!(!shown.contains("compared "), "{shown}");
    let events = events(&shown);
    let [read] = of(&events, "sdread")[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (&read["emulated"], read.get("mb_per_s")),
        (&json!(true), None)
    );
    assert_eq!(read["compared_bytes"], 0);
}

#[test]
fn a_difference_is_said_with_its_place() {
    let slot = FakeSlot {
        wrong_byte: Some(5_000_000),
        ..FakeSlot::new(4 << 30)
    };
    let board = board(slot, vec![Step::Type(b"/sd\r{\"id\":1,\"op\":\"sd\"}\r")]);
    let shown = board.play().0;
    let line = "WRONG    1 of 8388608 bytes differ between DMA and PIO, the first at byte 5000000 of the card";
    assert!(
        shown.contains(line) && !shown.contains("the same"),
        "{shown}"
    );
    let events = events(&shown);
    for read in of(&events, "sdread") {
        let place = (&read["differing_bytes"], &read["first_difference"]);
        assert_eq!(place, (&json!(1), &json!(5_000_000)));
    }
}

#[test]
fn an_empty_slot_ends_in_one_clear_line_after_what_the_controller_says() {
    let slot = || FakeSlot {
        card_bytes: None,
        ..FakeSlot::new(0)
    };
    let lines = person(&board(slot(), vec![Step::Type(b"/sd\r")]));
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert!(lines[1].starts_with("as left  0x24 1fff0000"), "{lines:?}");
    assert_eq!(lines[5], "no card in the slot: put one in");
    let (events, log) = program(slot());
    assert_eq!(log, []);
    let [sd, error] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((&sd["event"], &sd["card"]), (&json!("sd"), &Value::Null));
    assert_eq!(
        (&error["event"], &error["code"]),
        (&json!("error"), &json!("card"))
    );
}

#[test]
fn a_machine_without_a_slot_says_so() {
    let board = Board::new(vec![("tiny.gguf", tiny())], vec![Step::Type(b"/sd\r")]);
    assert_eq!(
        person(&board),
        ["this machine has no card slot: try it on a board"]
    );
}

#[test]
fn dma_that_is_given_up_on_the_way_ends_with_the_part_by_pio() {
    let slot = FakeSlot {
        dma_ends: 4 * MIB,
        ..FakeSlot::new(4 << 30)
    };
    let (events, log) = program(slot);
    assert_eq!(log.len(), 4);
    let bytes: Vec<_> = of(&events, "sdread")
        .iter()
        .map(|read| &read["read_bytes"])
        .collect();
    assert_eq!(bytes, [&json!(4 * MIB), &json!(8 * MIB)]);
    assert_eq!(of(&events, "sdread")[1]["compared_bytes"], 4 * MIB);
}

#[test]
fn what_was_measured_before_a_failure_is_told() {
    let slot = FakeSlot {
        bad_byte: Some(5_000_000),
        ..FakeSlot::new(4 << 30)
    };
    let (events, _) = program(slot);
    let names: Vec<_> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["sd", "sdread", "sdread", "error"]);
    assert_eq!(events[1]["read_bytes"], 4 * MIB);
    assert_eq!(events[3]["code"], "card");
}

#[test]
fn a_stop_ends_it_with_what_there_is() {
    let stops: [&'static [u8]; 2] = [b"\x03", b"{\"op\":\"abort\",\"id\":1}\n"];
    for stop in stops {
        let steps = vec![
            Step::Type(b"{\"id\":1,\"op\":\"sd\"}\n"),
            Step::AtLook(6, stop),
        ];
        let mut board = board(FakeSlot::new(4 << 30), steps);
        board.options = Some("quiet = on");
        let events = events(&board.play().0);
        let done = of(&events, "done");
        assert_eq!(done[0]["finish_reason"], "abort", "{events:?}");
        let read = of(&events, "sdread")[0]["read_bytes"].as_u64();
        assert!(read > Some(0) && read < Some(64 * MIB), "{events:?}");
    }
}
