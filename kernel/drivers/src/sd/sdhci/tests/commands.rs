//! Commands: their words, their answers, errors and busy.

use super::fake_words::{FakeWords, Outcome, log, ready};
use crate::sd::host::{HostError, SdHost};
use crate::sd::protocol::Command;
use crate::sd::registers::Word;
use crate::sd::sdhci::command::{command_word, read_mode};

#[test]
fn command_words() {
    let word = |command| command_word(command, 0);
    assert_eq!(word(Command::go_idle()), 0x0000_0000);
    assert_eq!(word(Command::all_send_cid()), 0x0209_0000);
    assert_eq!(word(Command::send_relative_addr()), 0x031A_0000);
    assert_eq!(word(Command::select(1)), 0x071A_0000);
    assert_eq!(word(Command::send_if_cond()), 0x081A_0000);
    assert_eq!(word(Command::send_op_cond(true)), 0x2902_0000);
    assert_eq!(word(Command::stop_transmission()), 0x0CDB_0000);
    let data = |command, n| command_word(command, read_mode(n));
    assert_eq!(data(Command::send_scr(), 1), 0x333A_0010);
    assert_eq!(data(Command::read_single(0), 1), 0x113A_0010);
    assert_eq!(data(Command::read_multiple(0), 2), 0x123A_0036);
}

#[test]
fn a_command_is_cleared_sent_and_awaited() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    let response = host.command(Command::send_if_cond()).unwrap();
    assert_eq!(response.short, 0x5678_0157);
    assert_eq!(
        log(&words),
        [
            (Word::IntStatus, 0xFFFF_FFFF),
            (Word::Argument, 0x1AA),
            (Word::ModeCommand, 0x081A_0000),
            (Word::IntStatus, 1),
        ]
    );
}

#[test]
fn long_answers_get_their_bit_numbers_back() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    let response = host.command(Command::all_send_cid()).unwrap();
    assert_eq!(response.long, 0x0353_4453_5533_3247_8012_3456_7801_5700);
}

#[test]
fn busy_is_awaited_and_ends_in_time() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    let stop = Command::stop_transmission();
    let busy = 2;
    words.present.set(busy);
    words.outcomes.replace([Outcome::Status(3)].into());
    host.command(stop).unwrap();
    assert_eq!(
        log(&words)[3..],
        [(Word::IntStatus, 1), (Word::IntStatus, 2)]
    );
    words.outcomes.replace([Outcome::Status(1)].into());
    let start = words.time_us.get();
    let error = HostError::DataTimeout { index: 12 };
    assert_eq!(host.command(stop), Err(error));
    assert!(words.time_us.get() - start >= 1_000_000);
    // The controller does not tell, but the line is free.
    words.present.set(0);
    words.outcomes.replace([Outcome::Status(1)].into());
    host.command(stop).unwrap();
}

#[test]
fn a_time_out_that_came_with_the_completion_is_none() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    words.present.set(2);
    let late = Outcome::Late;
    words.outcomes.replace([late].into());
    host.command(Command::stop_transmission()).unwrap();
    assert_eq!(words.status.get(), 0, "cleared");
    // A second error is one.
    words.outcomes.replace([Outcome::LateAnd(1 << 21)].into());
    let error = host.command(Command::stop_transmission()).unwrap_err();
    assert!(matches!(error, HostError::DataCorrupt { .. }));
}

#[test]
fn error_bits_come_first() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    let cases = [
        // As QEMU shows it: complete and timed out at once.
        (0x0001_8001, HostError::CommandTimeout { index: 8 }),
        // As a board shows it.
        (0x0001_8000, HostError::CommandTimeout { index: 8 }),
        (
            0x0002_8000,
            HostError::CommandCorrupt {
                index: 8,
                status: 0x0002_8000,
            },
        ),
        // A conflict on the line sets both bits.
        (
            0x0003_8000,
            HostError::CommandCorrupt {
                index: 8,
                status: 0x0003_8000,
            },
        ),
        (0x0010_8001, HostError::DataTimeout { index: 8 }),
        (
            0x0020_8001,
            HostError::DataCorrupt {
                index: 8,
                status: 0x0020_8001,
            },
        ),
        (0x0100_8001, HostError::AutoStop { status: 2 }),
        (0x0200_8001, HostError::Dma { status: 3 }),
        (
            0x0080_8001,
            HostError::Controller {
                status: 0x0080_8001,
            },
        ),
    ];
    for (status, error) in cases {
        words.outcomes.replace([Outcome::Status(status)].into());
        assert_eq!(
            host.command(Command::send_if_cond()),
            Err(error),
            "{status:#x}"
        );
    }
}

#[test]
fn silence_and_busy_lines_end_in_time() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    words.outcomes.replace([Outcome::Status(0)].into());
    let start = words.time_us.get();
    let error = HostError::CommandTimeout { index: 8 };
    assert_eq!(host.command(Command::send_if_cond()), Err(error));
    assert!((100_000..110_000).contains(&(words.time_us.get() - start)));

    words.present.set(0x01FF_0002);
    let busy = HostError::LinesBusy {
        present: 0x01FF_0002,
    };
    assert_eq!(
        host.read(Command::read_single(0), 512, &mut [0; 512]),
        Err(busy)
    );
    // Commands without data, and CMD12, do not wait for the data lines.
    host.command(Command::send_status(1)).unwrap();
    words.outcomes.replace([Outcome::Status(3)].into());
    host.command(Command::stop_transmission()).unwrap();
}

#[test]
fn lines_are_reset_one_after_the_other() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    host.reset_lines().unwrap();
    assert_eq!(
        log(&words),
        [
            (Word::IntStatus, 0xFFFF_FFFF),
            (Word::ClockReset, 0x020E_0207),
            (Word::ClockReset, 0x040E_0207),
            (Word::IntStatus, 0xFFFF_FFFF),
        ]
    );
}
