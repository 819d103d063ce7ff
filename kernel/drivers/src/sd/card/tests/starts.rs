//! Initialisation: the commands in their order, and cards that cannot be used.

use super::fake_host::FakeHost;
use super::{init, init_error, read};
use crate::sd::adma::DmaMap;
use crate::sd::card::{CardError, DEFAULT_SPEED_HZ, HIGH_SPEED_HZ, Modes, SdCard};
use crate::sd::host::HostError;
use crate::sd::protocol::Addressing;

#[test]
fn high_capacity_card_comes_up_in_high_speed() {
    let card = init(FakeHost::sdhc());
    let expected = [
        "reset",
        "0 0",
        "8 1aa",
        "55 0",
        "A41 40ff8000",
        "2 0",
        "3 0",
        "9 b3680000",
        "7 b3680000",
        "13 b3680000",
        "55 b3680000",
        "A51 0",
        "55 b3680000",
        "A6 2",
        "four lines",
        "6 fffff0",
        "6 80fffff1",
        "high speed true",
        "clock 50000000",
    ];
    assert_eq!(card.host.log, expected);
    assert_eq!(card.n_blocks(), (4 << 30) / 512);
    assert_eq!(card.addressing(), Addressing::Blocks);
    assert_eq!((card.n_data_lines(), card.high_speed()), (4, true));
    assert_eq!(card.clock_hz(), HIGH_SPEED_HZ);
    assert_eq!(&card.cid().name, b"SU32G");
}

#[test]
fn byte_addressed_card_gets_a_block_length_and_byte_addresses() {
    let mut card = init(FakeHost::sdsc());
    assert!(card.host.log.contains(&"16 200".to_string()));
    assert_eq!(card.n_blocks(), (64 << 20) / 512);
    let (blocks, log) = read(&mut card, 3, 2);
    assert_eq!(blocks, [3, 4]);
    assert_eq!(log, ["18 600", "  2 blocks"]);
}

#[test]
fn slow_cards_are_polled_every_ten_milliseconds() {
    let mut host = FakeHost::sdhc();
    host.polls_until_ready = 30;
    let card = init(host);
    let polls = card.host.log.iter().filter(|l| l.starts_with("A41"));
    assert_eq!(polls.count(), 31);
    assert!(card.host.time_us.get() >= 300_000);
}

#[test]
fn a_card_that_never_gets_ready_is_given_up() {
    let mut host = FakeHost::sdhc();
    host.polls_until_ready = u32::MAX;
    let (error, host) = init_error(host);
    assert_eq!(error, CardError::NeverReady { ocr: 0x00FF_8000 });
    assert!((2_000_000..2_100_000).contains(&host.time_us.get()));
}

#[test]
fn an_empty_slot_is_no_card() {
    let mut host = FakeHost::sdhc();
    host.present = false;
    let (error, host) = init_error(host);
    assert_eq!(error, CardError::NoCard);
    assert_eq!(host.log, ["reset", "0 0", "8 1aa", "reset lines", "55 0"]);
}

#[test]
fn a_card_of_version_1_has_no_cmd8_and_no_cmd6() {
    let mut host = FakeHost::sdsc();
    host.version_2 = false;
    host.scr = [0, 0xA1, 0, 0, 0, 0, 0, 0];
    let card = init(host);
    assert!(card.host.log.contains(&"A41 ff8000".to_string()));
    assert!(!card.host.log.iter().any(|l| l.starts_with("6 ")));
    assert_eq!((card.n_data_lines(), card.high_speed()), (1, false));
    assert_eq!(card.clock_hz(), DEFAULT_SPEED_HZ);
}

#[test]
fn high_speed_needs_the_offer_and_the_confirmation() {
    let mut host = FakeHost::sdhc();
    host.offers_high_speed = false;
    let card = init(host);
    assert!(!card.high_speed() && !card.host.log.contains(&"6 80fffff1".to_string()));
    let mut host = FakeHost::sdhc();
    host.accepts_high_speed = false;
    let card = init(host);
    assert!(!card.high_speed() && card.host.log.contains(&"6 80fffff1".to_string()));
    assert_eq!(card.clock_hz(), DEFAULT_SPEED_HZ);
}

#[test]
fn what_fails_on_the_way_to_full_speed_is_tried_three_times_and_then_done_without() {
    let with = |refusals: &[(&'static str, usize)], mut host: FakeHost| {
        host.refusals = refusals.to_vec();
        let card = init(host);
        (card.n_data_lines(), card.clock_hz())
    };
    let (full, slow) = (HIGH_SPEED_HZ, DEFAULT_SPEED_HZ);
    for n in 1..=2 {
        for name in ["A51", "A6", "6 fffff0", "6 80fffff1"] {
            assert_eq!(with(&[(name, n)], FakeHost::sdhc()), (4, full), "{name}");
        }
    }
    // Version 2.00 is known without the SCR; a byte-addressed card may be anything.
    assert_eq!(with(&[("A51", 3)], FakeHost::sdhc()), (4, full));
    assert_eq!(with(&[("A51", 3)], FakeHost::sdsc()), (1, slow));
    assert_eq!(with(&[("A6", 3)], FakeHost::sdhc()), (1, full));
    assert_eq!(with(&[("6 fffff0", 3)], FakeHost::sdhc()), (4, slow));
    let all = [("A51", 99), ("A6", 99), ("6 ", 99)];
    assert_eq!(with(&all, FakeHost::sdhc()), (1, slow));
}

#[test]
fn the_clock_leaves_identification_at_the_very_end() {
    for offers_high_speed in [false, true] {
        let mut host = FakeHost::sdhc();
        host.offers_high_speed = offers_high_speed;
        let log = init(host).host.log;
        assert!(log.last().unwrap().starts_with("clock"), "{log:?}");
        assert_eq!(log.iter().filter(|l| l.starts_with("clock")).count(), 1);
    }
}

#[test]
fn a_selected_card_is_awaited_with_cmd13() {
    let mut host = FakeHost::sdhc();
    host.states = [0x700, 0xE00].into();
    let log = init(host).host.log;
    assert_eq!(log.iter().filter(|l| l.starts_with("13")).count(), 3);
    let mut host = FakeHost::sdhc();
    host.states = vec![0x700; 10_000].into();
    let (error, host) = init_error(host);
    let status = 0x700;
    assert_eq!(error, CardError::Refused { index: 7, status });
    assert!((1_000_000..1_200_000).contains(&host.time_us.get()));
}

#[test]
fn modes_leave_out_what_they_are_asked_to() {
    let start = |modes| {
        let mut host = FakeHost::sdhc();
        host.map = Some(DmaMap::Identity);
        let mut card = SdCard::init_patiently(host, modes)
            .map_err(|(error, _)| error)
            .unwrap();
        let mut bytes = [[0; 512]; 2];
        let [by_pio, by_dma] = &mut bytes;
        let map = card.adopt_dma(&[DmaMap::Identity], by_pio, by_dma).unwrap();
        (card.n_data_lines(), card.clock_hz(), map.is_some())
    };
    let all = Modes::default();
    let high_speed = false;
    assert_eq!(
        start(Modes { high_speed, ..all }),
        (4, DEFAULT_SPEED_HZ, true)
    );
    let four_lines = false;
    assert_eq!(start(Modes { four_lines, ..all }), (1, HIGH_SPEED_HZ, true));
    let dma = false;
    assert_eq!(start(Modes { dma, ..all }), (4, HIGH_SPEED_HZ, false));
}

#[test]
fn a_card_has_a_millisecond_after_cmd0() {
    let mut host = FakeHost::sdhc();
    host.needs_us = 1_000;
    init(host);
}

#[test]
fn a_silent_card_gets_its_power_cycled_twice() {
    for wedged in 0..=2 {
        let mut host = FakeHost::sdhc();
        host.wedged = wedged;
        let card = SdCard::init_patiently(host, Modes::default()).map_err(|(error, _)| error);
        let host = card.unwrap().release();
        let cycles = host.log.iter().filter(|l| *l == "power cycle");
        assert_eq!(cycles.count(), wedged);
        assert!(host.time_us.get() >= 100_000 * wedged as u64);
    }
    let mut host = FakeHost::sdhc();
    host.wedged = 3;
    let (error, host) = SdCard::init_patiently(host, Modes::default())
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error, CardError::NoCard);
    let resets = host.log.iter().filter(|l| *l == "reset");
    assert_eq!(resets.count(), 3);
}

#[test]
fn cards_that_cannot_be_used_are_named() {
    let mut host = FakeHost::sdhc();
    host.locked = true;
    assert_eq!(init_error(host).0, CardError::Locked);
    let mut host = FakeHost::sdhc();
    host.ocr_voltages = 0x0000_8000;
    assert_eq!(
        init_error(host).0,
        CardError::Voltage {
            answer: 0xC000_8000
        }
    );
    let mut host = FakeHost::sdhc();
    host.csd = 2 << 126;
    assert_eq!(init_error(host).0, CardError::UnknownCsd { version: 2 });
}

#[test]
fn every_error_is_one_line_that_says_what_to_do() {
    let errors = [
        CardError::NoCard,
        CardError::Voltage { answer: 1 },
        CardError::NeverReady { ocr: 1 },
        CardError::Locked,
        CardError::UnknownCsd { version: 2 },
        CardError::Refused {
            index: 7,
            status: 1,
        },
        CardError::Host(HostError::LinesBusy { present: 1 }),
    ];
    for error in errors {
        let line = error.to_string();
        assert!(!line.contains('\n') && line.contains(": "), "{line}");
    }
}
