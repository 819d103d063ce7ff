//! What the firmware says of the base clock, and what it is: the clock that the card really gets.

use super::chip::card::byte;
use super::chip::rig::{lines, memory, start};
use super::chip::{Answers, Chip};
use crate::sd::adma::DmaMap;
use crate::sd::card::{CardError, Modes};

const MHZ: u32 = 1_000_000;
const TRUE_MHZ: [u32; 3] = [100, 200, 250];

const DEAD: Answers = [None; 3];

/// What a start and a read of a card led to.
struct Outcome {
    fastest_identification_hz: u32,
    slowest_identification_hz: u32,
    fastest_data_hz: u32,
    n_lost_writes: usize,
    result: Result<(), CardError>,
    took_ms: u64,
}

/// Starts a card and reads it; what comes in is right, or there is an error.
fn run(answers: Answers, true_mhz: u32) -> Outcome {
    let memory = memory(1);
    let mut chip = Chip::new(&memory, DmaMap::Identity);
    (chip.answers, chip.base_hz) = (answers, true_mhz * MHZ);
    let buf = lines(64 << 10);
    memory.map(buf, 0x0200_0000);
    let result = start(&chip, Modes::default(), &[chip.map])
        .and_then(|mut card| card.read_blocks(9, buf))
        .map(|()| {
            let mut bytes = buf.iter().enumerate();
            assert!(bytes.all(|(i, b)| *b == byte(9 * 512 + i)));
        });
    let (fastest_identification_hz, slowest_identification_hz) = chip.identification_hz.get();
    Outcome {
        fastest_identification_hz,
        slowest_identification_hz,
        fastest_data_hz: chip.fastest_data_hz.get(),
        n_lost_writes: chip.n_lost.get(),
        result,
        took_ms: chip.time_us.get() / 1000,
    }
}

/// The card runs, and its clocks are `identification_khz` and at most `data_mhz` with their tolerance.
fn check(answers: Answers, true_mhz: u32, identification_hz: [u32; 2], data_hz: u32) {
    let outcome = run(answers, true_mhz);
    let what = format!("{answers:?}, truly {true_mhz} MHz");
    assert_eq!(outcome.result, Ok(()), "{what}");
    assert_eq!(outcome.n_lost_writes, 0, "{what}");
    let [low, high] = identification_hz;
    assert!(outcome.slowest_identification_hz >= low, "{what}");
    assert!(outcome.fastest_identification_hz <= high, "{what}");
    assert!(outcome.fastest_data_hz <= data_hz, "{what}");
    // Nor is it slower than it could be: half of the limit at least.
    assert!(
        outcome.fastest_data_hz >= data_hz / 2 - data_hz / 50,
        "{what}"
    );
}

const IDENTIFICATION_HZ: [u32; 2] = [100_000, 400_000];
const DATA_HZ: u32 = 50_500_000;

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn true_and_bent_answers_give_true_clocks() {
    for true_mhz in TRUE_MHZ {
        let hz = true_mhz * MHZ;
        // The measurement counts pulses during a millisecond.
        for bend in [0, 496, 992, -600, 1_000, -1_000, 400_000] {
            let bent = hz.checked_add_signed(bend);
            for answers in [
                [bent; 3],
                [bent, Some(0), None],
                // Nobody measures, or what was measured is absurd: the next answer counts.
                [None, bent, None],
                [Some(0), bent, None],
                [Some(0), Some(0), bent],
                [Some(MHZ), Some(3 * MHZ), bent],
                [Some(4_000_000_000), bent, Some(1)],
            ] {
                check(answers, true_mhz, IDENTIFICATION_HZ, DATA_HZ);
            }
        }
    }
}

/// Where nothing believable is answered, 200 MHz are assumed. Right or twice too much is within the
/// limits; a quarter too little is not, and cannot be noticed: the card gets 500 kHz and 62.5 MHz.
#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn no_believable_answer_is_at_most_a_quarter_too_fast() {
    let absurd = [
        0,
        1,
        MHZ,
        3 * MHZ,
        49 * MHZ,
        501 * MHZ,
        4_000_000_000,
        u32::MAX,
    ];
    let answers = absurd.map(|hz| [Some(hz); 3]);
    for answers in answers.into_iter().chain([DEAD]) {
        check(answers, 100, IDENTIFICATION_HZ, 25_250_000);
        check(answers, 200, IDENTIFICATION_HZ, DATA_HZ);
        check(answers, 250, [400_000, 500_000], 62_500_000);
    }
}

/// A wrong answer that is one of the three clocks of other boards cannot be noticed either, as long as
/// it is the first one that is believed. What holds then: every write gets through, a card that still
/// answers is read rightly or not at all, in the time of the retries.
#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn a_wrong_answer_ends_in_right_bytes_or_an_error() {
    for true_mhz in TRUE_MHZ {
        for told_mhz in TRUE_MHZ {
            let outcome = run([Some(told_mhz * MHZ); 3], true_mhz);
            let what = format!("{told_mhz} instead of {true_mhz} MHz");
            assert_eq!(outcome.n_lost_writes, 0, "{what}");
            let is_slow_enough = true_mhz <= told_mhz;
            assert!(outcome.result.is_ok() || !is_slow_enough, "{what}");
            assert!(outcome.took_ms < 500, "{what}: {} ms", outcome.took_ms);
            let factor = |hz: u32| u64::from(hz) * u64::from(true_mhz) / u64::from(told_mhz) + 1;
            let identification_hz = u64::from(outcome.fastest_identification_hz);
            assert!(identification_hz <= factor(400_000), "{what}");
            assert!(
                u64::from(outcome.fastest_data_hz) <= factor(DATA_HZ),
                "{what}"
            );
        }
    }
}
