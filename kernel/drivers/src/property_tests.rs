use super::*;
use crate::mailbox::fake::mailbox;

#[test]
fn qemu_answers_are_understood() {
    let mut mailbox = mailbox(|tag, value| {
        Some(match tag {
            FIRMWARE_REVISION => vec![346_337],
            BOARD_REVISION => vec![0xB0_3115],
            ARM_MEMORY => vec![0, 0x3C00_0000],
            CLOCK_RATE => vec![value[0], 3_000_000],
            MIN_CLOCK_RATE => vec![value[0], 600_000_000],
            MAX_CLOCK_RATE => vec![value[0], 1_500_000_000],
            TEMPERATURE => vec![0, 25_000],
            THROTTLED => vec![0],
            SET_CLOCK_RATE => {
                assert_eq!(value, [3, 1_800_000_000, 0]);
                vec![3, 1_800_000_000]
            }
            SET_POWER_STATE => {
                assert_eq!(value, [0, 3]);
                vec![0, 1]
            }
            _ => vec![],
        })
    });
    assert_eq!(mailbox.power_sd_card(), Ok(()));
    assert_eq!(mailbox.firmware_revision(), Ok(346_337));
    assert_eq!(mailbox.board_revision(), Ok(0xB0_3115));
    assert_eq!(mailbox.arm_memory(), Ok(0..0x3C00_0000));
    assert_eq!(mailbox.clock_rate_hz(ClockId::Uart), Ok(3_000_000));
    assert_eq!(mailbox.min_clock_rate_hz(ClockId::Arm), Ok(600_000_000));
    assert_eq!(mailbox.max_clock_rate_hz(ClockId::Arm), Ok(1_500_000_000));
    assert_eq!(mailbox.temperature_milli_c(), Ok(25_000));
    assert_eq!(mailbox.throttled(), Ok(Throttled(0)));
    let set = mailbox.set_clock_rate_hz(ClockId::Arm, 1_800_000_000);
    assert_eq!(set, Ok(()));
    assert!(mailbox.measured_clock_rate_hz(ClockId::Arm).is_err());
    assert!(mailbox.set_expander_gpio(132, false).is_err());
}

#[test]
fn the_expander_is_judged_by_its_status() {
    // The board's firmware leaves the mark of an answer out.
    let mut board = mailbox(|_, _| Some(vec![0, 1]));
    board.leave_unmarked();
    assert_eq!(board.set_expander_gpio(132, false), Ok(()));
    // One word is enough of an answer.
    let mut short = mailbox(|_, _| Some(vec![0]));
    assert_eq!(short.set_expander_gpio(134, true), Ok(()));
    let mut failing = mailbox(|_, _| Some(vec![1]));
    let tag = SET_EXPANDER_GPIO;
    let failed = Error::Failed { tag, status: 1 };
    assert_eq!(failing.set_expander_gpio(134, true), Err(failed));
    // A marked answer with the request in it, as QEMU gives it: nobody knows the tag.
    let mut unknown = mailbox(|_, _| Some(vec![]));
    let unanswered = Error::Unanswered { tag };
    assert_eq!(unknown.set_expander_gpio(134, true), Err(unanswered));
    // Other tags still need the mark.
    board.leave_unmarked();
    assert!(board.firmware_revision().is_err());
}

#[test]
fn a_command_line_of_any_length() {
    let answer = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let words = bytes.chunks(4).map(|word| {
            word.iter()
                .rev()
                .fold(0, |sum, &byte| sum << 8 | u32::from(byte))
        });
        words.collect::<Vec<u32>>()
    };
    let mut short = mailbox(move |_, _| Some(answer("cores=2 x")));
    let mut line = [0; 64];
    let len = short.command_line(&mut line).unwrap();
    assert_eq!(&line[..len], b"cores=2 x");
    let len = short.command_line(&mut line[..4]).unwrap();
    assert_eq!(&line[..len], b"core");

    let mut long = mailbox(move |_, _| Some(answer(&"y".repeat(4 * VALUE_WORDS + 400))));
    let mut line = [0; 4096];
    let len = long.command_line(&mut line).unwrap();
    assert_eq!(len, 4 * VALUE_WORDS);
    assert!(line[..len].iter().all(|&byte| byte == b'y'));
}

#[test]
fn throttling_bits() {
    let now = Throttled(0x5_0005);
    assert!(now.under_voltage() && now.is_limited() && now.was_limited());
    let before = Throttled(0x4_0000);
    assert!(!before.is_limited() && before.was_limited());
}
