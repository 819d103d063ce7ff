//! Data by the data port.

use super::fake_words::{FakeWords, Outcome, log, ready};
use crate::sd::host::{HostError, SdHost};
use crate::sd::protocol::Command;
use crate::sd::registers::Word;

#[test]
fn the_answer_to_the_automatic_stop_is_handed_over() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    words.outcomes.replace([Outcome::Blocks(2)].into());
    let response = host.read(Command::read_multiple(7), 512, &mut [0; 1024]);
    assert_eq!(response.unwrap().stop, 0x0003_5344);
    words.outcomes.replace([Outcome::Blocks(1)].into());
    let response = host.read(Command::read_single(7), 512, &mut [0; 512]);
    assert_eq!(response.unwrap().stop, 0);
}

#[test]
fn blocks_come_out_of_the_port() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    words.outcomes.replace([Outcome::Blocks(2)].into());
    let mut buf = [0; 1024];
    host.read(Command::read_multiple(7), 512, &mut buf).unwrap();
    let expected = (0..1024).map(|i| (i % 8) as u8 ^ 4);
    assert!(buf.iter().copied().eq(expected));
    assert_eq!(
        log(&words),
        [
            (Word::BlockSizeCount, 0x0002_0200),
            (Word::IntStatus, 0xFFFF_FFFF),
            (Word::Argument, 7),
            (Word::ModeCommand, 0x123A_0036),
            (Word::IntStatus, 1),
            (Word::IntStatus, 0x20),
            (Word::IntStatus, 0x20),
            (Word::IntStatus, 2),
        ]
    );
    words.outcomes.replace([Outcome::Blocks(1)].into());
    let mut scr = [0; 8];
    host.read(Command::send_scr(), 8, &mut scr).unwrap();
    assert_eq!(scr, [4, 5, 6, 7, 0, 1, 2, 3]);
    let log = log(&words);
    assert!(log.contains(&(Word::BlockSizeCount, 0x0001_0008)));
    assert!(log.contains(&(Word::ModeCommand, 0x333A_0010)));
}

#[test]
fn data_that_stop_end_in_time() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    words.outcomes.replace([Outcome::Status(1)].into());
    let error = HostError::DataTimeout { index: 17 };
    let result = host.read(Command::read_single(0), 512, &mut [0; 512]);
    assert_eq!(result, Err(error));
}

#[test]
fn data_that_trickle_end_in_time() {
    let mut words = FakeWords::new();
    words.word_us = 2_000;
    let mut host = ready(&words);
    words.outcomes.replace([Outcome::Blocks(100)].into());
    let start = words.time_us.get();
    let error = HostError::DataTimeout { index: 18 };
    let result = host.read(Command::read_multiple(0), 512, &mut [0; 51_200]);
    assert_eq!(result, Err(error));
    assert!((1_050_000..1_400_000).contains(&(words.time_us.get() - start)));
}
