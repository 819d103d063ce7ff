//! Power, clocks and the words of host control.

use super::fake_words::{CAPS_BOARD, FakeWords, board, log, ready, table};
use crate::sd::base_clock::BaseClock;
use crate::sd::host::{HostError, SdHost};
use crate::sd::registers::{Word, capabilities};
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
}

#[test]
fn writes_at_the_identification_clock_are_eight_clocks_apart() {
    let words = FakeWords::new();
    let mut host = Sdhci::on(&words, &words, board(Some(100_000_000)), table());
    host.reset().unwrap();
    let before = words.time_us.get();
    host.write(Word::Argument, 0);
    assert_eq!(words.time_us.get() - before, 21);
    host.set_clock_hz(25_000_000).unwrap();
    let before = words.time_us.get();
    host.write(Word::Argument, 0);
    assert_eq!(words.time_us.get() - before, 2);
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
