//! Start, commands, errors and data by the data port.

use super::fake_words::{CAPS_BOARD, FakeWords, Outcome, board, log, ready, table};
use crate::sd::base_clock::BaseClock;
use crate::sd::host::{HostError, SdHost};
use crate::sd::protocol::Command;
use crate::sd::registers::{Word, capabilities};
use crate::sd::sdhci::command::{command_word, read_mode};
use crate::sd::sdhci::{Rails, Sdhci};

#[test]
fn reset_powers_the_bus_and_starts_the_identification_clock() {
    let words = FakeWords::new();
    let mut host = Sdhci::on(&words, &words, board(Some(100_000_000)), table());
    host.reset().unwrap();
    assert_eq!(host.board.expander, [(132, false), (134, true)]);
    assert_eq!(host.board.n_powered, 1);
    assert_eq!(
        log(&words),
        [
            (Word::ClockReset, 0x0100_0000),
            (Word::HostPower, 0x0000_0F00),
            (Word::AutoHost2, 0),
            (Word::IntSignal, 0),
            (Word::IntEnable, 0x03FF_0023),
            (Word::IntStatus, 0xFFFF_FFFF),
            (Word::ClockReset, 0x0000_0000),
            (Word::HostPower, 0x0000_0F00),
            (Word::ClockReset, 0x000E_7D01),
            (Word::ClockReset, 0x000E_7D05),
        ]
    );
    assert_eq!(host.card_hz, 400_000);
    let rails = Rails {
        io_3v3: true,
        card_power: true,
    };
    assert_eq!(host.rails(), rails);
    assert_eq!(host.base_clock().to_string(), "100 MHz (measured)");
    // Rail 5 ms, bus power 10 ms, clock 1 and 10 ms, and 20 us after each of ten writes.
    let settled = words.time_us.get();
    assert!(settled >= 5_000 + 10_000 + 11_000 + 10 * 20, "{settled}");
}

#[test]
fn an_expander_that_does_not_answer_stops_nothing() {
    let words = FakeWords::new();
    let mut silent = board(None);
    silent.answers = false;
    let mut host = Sdhci::on(&words, &words, silent, table());
    host.reset().unwrap();
    // The rail may have switched all the same, and has its time.
    let settled = words.time_us.get();
    assert!(settled >= 5_000 + 10_000 + 11_000 + 10 * 20, "{settled}");
    assert_eq!(host.rails(), Rails::default());
    // Without the mailbox's answer a base clock is assumed: 200 MHz / 500.
    assert_eq!(host.base_clock(), BaseClock::ASSUMED);
    assert_eq!(log(&words).last(), Some(&(Word::ClockReset, 0x000E_FA05)));
    // It may be half of that: writes are as far apart as that needs.
    let before = words.time_us.get();
    host.write(Word::Argument, 0);
    assert_eq!(words.time_us.get() - before, 20);
}

#[test]
fn writes_at_the_identification_clock_are_four_clocks_apart() {
    let words = FakeWords::new();
    let mut host = Sdhci::on(&words, &words, board(Some(100_000_000)), table());
    host.reset().unwrap();
    let before = words.time_us.get();
    host.write(Word::Argument, 0);
    assert_eq!(words.time_us.get() - before, 10);
    host.set_clock_hz(25_000_000).unwrap();
    let before = words.time_us.get();
    host.write(Word::Argument, 0);
    assert_eq!(words.time_us.get() - before, 1);
}

#[test]
fn clock_words() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    assert_eq!(host.set_clock_hz(50_000_000), Ok(50_000_000));
    assert_eq!(
        log(&words),
        [
            (Word::ClockReset, 0x000E_0203),
            (Word::HostPower, 0x0000_0F00),
            (Word::ClockReset, 0x000E_0101),
            (Word::ClockReset, 0x000E_0105),
        ]
    );
    host.base_clock.hz = 2_000_000_000;
    let error = HostError::BaseClock {
        base_hz: 2_000_000_000,
    };
    assert_eq!(host.set_clock_hz(400_000), Err(error));
}

#[test]
fn an_unstable_clock_and_a_stuck_reset_end_in_time() {
    let mut words = FakeWords::new();
    words.stable = false;
    let mut host = Sdhci::on(&words, &words, board(Some(100_000_000)), table());
    let control = 0x000E_7D01;
    assert_eq!(host.reset(), Err(HostError::ClockUnstable { control }));
    let mut words = FakeWords::new();
    words.resets = false;
    let mut host = Sdhci::on(&words, &words, board(Some(100_000_000)), table());
    let control = 0x0100_0000;
    assert_eq!(host.reset(), Err(HostError::ResetStuck { control }));
    assert!((100_000..120_000).contains(&words.time_us.get()));
}

#[test]
fn host_control_words_keep_the_power_on() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    host.set_four_lines();
    host.set_high_speed(true);
    assert_eq!(log(&words), [(Word::HostPower, 0x0F02)]);
    // The timing changes while the card clock stands still.
    host.set_clock_hz(50_000_000).unwrap();
    assert_eq!(
        log(&words)[..3],
        [
            (Word::ClockReset, 0x000E_0203),
            (Word::HostPower, 0x0F06),
            (Word::ClockReset, 0x000E_0101),
        ]
    );
    host.set_high_speed(false);
    host.set_clock_hz(25_000_000).unwrap();
    assert!(log(&words).contains(&(Word::HostPower, 0x0F02)));
}

#[test]
fn a_power_cycle_takes_bus_clock_and_card_power_away() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    host.set_four_lines();
    host.board.expander.clear();
    log(&words);
    let start = words.time_us.get();
    host.cycle_power();
    let expander = [(134, false), (132, false), (134, true)];
    assert_eq!(host.board.expander, expander);
    assert_eq!(
        log(&words),
        [
            (Word::HostPower, 0x0002),
            (Word::ClockReset, 0x000E_0203),
            (Word::HostPower, 0x0F02),
        ]
    );
    assert!(words.time_us.get() - start >= 70_000);
    host.reset().unwrap();
    assert!(log(&words).contains(&(Word::HostPower, 0x0F00)));
}

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
    assert!((1_400_000..2_000_000).contains(&(words.time_us.get() - start)));
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

#[test]
fn only_an_empty_slot_in_qemu_hands_over_to_the_legacy_controller() {
    let mut words = FakeWords::new();
    words.capabilities = capabilities::QEMU;
    words.present.set(0x01FA_0000);
    let host = Sdhci::on(&words, &words, board(None), table());
    assert!(host.is_empty_in_qemu());
    words.present.set(0x01FF_0000);
    assert!(!Sdhci::on(&words, &words, board(None), table()).is_empty_in_qemu());
    let words = FakeWords::new();
    let host = Sdhci::on(&words, &words, board(None), table());
    assert!(!host.is_empty_in_qemu());
    assert_eq!((host.version(), host.capabilities()), (0x1002, CAPS_BOARD));
}
