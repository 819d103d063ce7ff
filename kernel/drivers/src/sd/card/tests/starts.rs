//! Initialisation: the commands in their order, and cards that cannot be used.

use super::fake_host::FakeHost;
use super::{init, init_error, read};
use crate::sd::card::{CardError, DEFAULT_SPEED_HZ, HIGH_SPEED_HZ};
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
        "clock 25000000",
        "7 b3680000",
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
