//! Each guard voids a window with its breach planted, and only then.

use lab::guard::{Breach, breach, enough};
use lab::window::{Expected, Window};

const EXPECTED: Expected = Expected {
    pos: 0,
    reused: 0,
    cores: 4,
    clock_hz: Some(1_500_000_000),
    logits_crc: Some(7),
};

fn clean() -> Window {
    Window {
        ns: 1_000_000_000,
        token_ns: vec![1_000_000_000],
        cycles: Some(1_500_000_000),
        pmu_overflow: Some(false),
        irqs: Some(0),
        uart_bytes: Some(0),
        heap_growth_bytes: Some(0),
        pos_before: Some(0),
        reused_tokens: Some(0),
        cores: 4,
        celsius: [Some(50.0), Some(51.0)],
        throttled: [Some(0x5_0000), Some(0x5_0000)],
        logits_crc: Some(7),
        is_warm_up: false,
    }
}

fn planted(breach: Breach, window: &mut Window) {
    match breach {
        Breach::WarmUp => window.is_warm_up = true,
        Breach::Position => window.pos_before = Some(16),
        Breach::Reused => window.reused_tokens = Some(1),
        Breach::Cores => window.cores = 3,
        Breach::Interrupt => window.irqs = Some(1),
        Breach::HeapMoved => window.heap_growth_bytes = Some(-8),
        Breach::UartMoved => window.uart_bytes = Some(1),
        Breach::Throttled => window.throttled[1] = Some(0x5_0004),
        Breach::ClockOff => window.cycles = Some(1_484_000_000),
        Breach::CounterOverflow => window.pmu_overflow = Some(true),
        Breach::DifferentWork => window.logits_crc = Some(8),
    }
}

#[test]
fn each_breach_voids() {
    assert_eq!(breach(&clean(), &EXPECTED), None);
    for planted_breach in Breach::ALL {
        let mut window = clean();
        planted(planted_breach, &mut window);
        assert_eq!(breach(&window, &EXPECTED), Some(planted_breach));
    }
}

#[test]
fn a_throttle_that_came_and_went_voids() {
    let mut window = clean();
    window.throttled[1] = Some(0x7_0000);
    assert_eq!(breach(&window, &EXPECTED), Some(Breach::Throttled));
}

#[test]
fn a_clock_within_one_percent_holds() {
    let mut window = clean();
    window.cycles = Some(1_486_000_000);
    assert_eq!(breach(&window, &EXPECTED), None);
}

#[test]
fn what_nobody_asked_does_not_void() {
    let window = Window {
        cores: 4,
        ..Window::default()
    };
    let expected = Expected {
        logits_crc: None,
        ..EXPECTED
    };
    assert_eq!(breach(&window, &expected), None);
}

#[test]
fn more_than_a_fifth_is_not_enough() {
    assert!(enough(0, 1) && enough(4, 20));
    assert!(!enough(5, 20) && !enough(1, 1) && !enough(0, 0));
}
