use lab::verdict::{Difference, Reason};

use super::{Log, LogError, compare};
use crate::synth::SplitMix64;

const CELLS: [&str; 3] = ["decode q8_0", "decode q4_0", "prompt q8_0"];

/// 20 blocks of three cells whose times scatter by 1 %.
fn log(seed: u64, factor: f64, change: impl Fn(usize, String) -> String) -> Log {
    let mut random = SplitMix64::new(seed);
    let mut text = String::from("{\"event\":\"progress\",\"done\":1}\n");
    for block in 1..=20 {
        for cell in CELLS {
            let ns = 1e9 * factor * (1.0 + 0.01 * f64::from(random.normal()));
            let line = format!(
                "{{\"event\":\"record\",\"experiment\":\"bench\",\"block\":{block},\"cell\":{{\"name\":\"{cell}\"}},\
                 \"window\":{{\"ns\":{ns:.0},\"logits_crc\":7}},\"void\":null,\"emulated\":false}}\n"
            );
            text += &change(block, line);
        }
    }
    Log::parse(&text).unwrap()
}

fn as_is(_: usize, line: String) -> String {
    line
}

#[test]
fn equal_machines_are_no_difference_and_a_twentieth_is_found() {
    let mut equal = 0;
    for seed in 0..20 {
        let first = log(2 * seed, 1.0, as_is);
        let same = compare(&first, &log(2 * seed + 1, 1.0, as_is));
        equal += usize::from(same.iter().all(|line| line.difference == Difference::None));
        for line in compare(&first, &log(2 * seed + 1, 1.0 / 1.05, as_is)) {
            assert_eq!(
                (line.difference, line.n, line.same_work),
                (Difference::Faster, 20, Some(true))
            );
            assert!(line.ratio.unwrap().low > 1.03);
        }
        let slower = compare(&first, &log(2 * seed + 1, 1.05, as_is));
        assert!(
            slower
                .iter()
                .all(|line| line.difference == Difference::Slower)
        );
    }
    assert!(equal >= 17, "{equal} of 20");
}

#[test]
fn an_emulators_times_give_neither_ratio_nor_verdict() {
    let emulated = log(1, 0.5, |_, line| {
        line.replace("\"emulated\":false", "\"emulated\":true")
    });
    for line in compare(&log(0, 1.0, as_is), &emulated) {
        assert_eq!(line.difference, Difference::Inconclusive(Reason::Emulated));
        assert!(line.ratio.is_none() && line.p.is_none());
    }
}

#[test]
fn void_windows_and_other_work_are_seen() {
    let void = |up_to: usize| {
        move |block, line: String| match block <= up_to {
            true => line.replace("\"void\":null", "\"void\":\"interrupt\""),
            false => line,
        }
    };
    let first = log(0, 1.0, as_is);
    let few = compare(&first, &log(1, 0.9, void(4)));
    assert!(
        few.iter()
            .all(|l| l.n == 16 && l.difference == Difference::Faster)
    );
    let many = compare(&first, &log(1, 0.9, void(5)));
    assert!(
        many.iter()
            .all(|l| l.difference == Difference::Inconclusive(Reason::Void) && l.ratio.is_none())
    );
    let other = log(1, 1.0, |block, line| match block {
        20 => line.replace("\"logits_crc\":7", "\"logits_crc\":8"),
        _ => line,
    });
    assert!(
        compare(&first, &other)
            .iter()
            .all(|l| l.same_work == Some(false))
    );
    let unasked = log(1, 1.0, |_, line| line.replace(":7}", ":null}"));
    assert!(
        compare(&first, &unasked)
            .iter()
            .all(|l| l.same_work.is_none())
    );
}

#[test]
fn a_log_that_is_none_is_refused() {
    assert!(matches!(
        Log::parse("{\"event\":\"ready\"}\n"),
        Err(LogError::Empty)
    ));
    assert!(matches!(
        Log::parse("\n{\"event\""),
        Err(LogError::Line { line: 2, .. })
    ));
    assert!(matches!(
        Log::parse("{\"event\":\"record\"}"),
        Err(LogError::Line { line: 1, .. })
    ));
}
