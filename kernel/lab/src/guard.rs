//! What makes a window void. A void sample is kept, named and counted.

use crate::window::{Expected, Window};
use core::fmt;

/// Throttle flags that are on at the moment: under-voltage, frequency capped, throttled, soft limit.
pub const THROTTLED_NOW: u32 = 0xf;

/// The same flags as they have occurred since the boot.
const THROTTLED_SINCE_SHIFT: u32 = 16;

/// The largest distance of the window's clock from the one asked for, as a share of it.
const CLOCK_TOLERANCE: f64 = 0.01;

/// The largest share of void windows that still gives a verdict, in percent.
const MAX_VOID_PERCENT: usize = 20;

/// Why a window is void.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Breach {
    /// It belongs to the warm-up.
    WarmUp,
    /// The model did not stand where it should.
    Position,
    /// Tokens were kept from before.
    Reused,
    /// Another number of cores worked.
    Cores,
    /// An interrupt was taken.
    Interrupt,
    /// The heap grew or shrank.
    HeapMoved,
    /// Bytes moved on the serial line.
    UartMoved,
    /// The firmware held the clock back.
    Throttled,
    /// The clock was not the one asked for.
    ClockOff,
    /// A counter overflowed.
    CounterOverflow,
    /// The logits are not the first run's.
    DifferentWork,
}

impl Breach {
    /// All of them, in the order in which a window is asked.
    pub const ALL: [Self; 11] = [
        Self::WarmUp,
        Self::Position,
        Self::Reused,
        Self::Cores,
        Self::Interrupt,
        Self::HeapMoved,
        Self::UartMoved,
        Self::Throttled,
        Self::ClockOff,
        Self::CounterOverflow,
        Self::DifferentWork,
    ];

    /// Returns the name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm_up",
            Self::Position => "position",
            Self::Reused => "reused",
            Self::Cores => "cores",
            Self::Interrupt => "interrupt",
            Self::HeapMoved => "heap_moved",
            Self::UartMoved => "uart_moved",
            Self::Throttled => "throttled",
            Self::ClockOff => "clock_off",
            Self::CounterOverflow => "counter_overflow",
            Self::DifferentWork => "different_work",
        }
    }

    fn holds(self, window: &Window, expected: &Expected) -> bool {
        match self {
            Self::WarmUp => window.is_warm_up,
            Self::Position => window.pos_before.is_some_and(|pos| pos != expected.pos),
            Self::Reused => window.reused_tokens.is_some_and(|n| n != expected.reused),
            Self::Cores => window.cores != expected.cores,
            Self::Interrupt => window.irqs.is_some_and(|n| n != 0),
            Self::HeapMoved => window.heap_growth_bytes.is_some_and(|bytes| bytes != 0),
            Self::UartMoved => window.uart_bytes.is_some_and(|bytes| bytes != 0),
            Self::Throttled => is_throttled(window.throttled),
            Self::ClockOff => is_clock_off(window.clock_hz(), expected.clock_hz),
            Self::CounterOverflow => window.pmu_overflow == Some(true),
            Self::DifferentWork => {
                expected.logits_crc.is_some() && window.logits_crc != expected.logits_crc
            }
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WarmUp => "warm-up",
            Self::Position => "the model did not stand where it should",
            Self::Reused => "tokens were kept from before",
            Self::Cores => "another number of cores worked",
            Self::Interrupt => "an interrupt was taken",
            Self::HeapMoved => "the heap moved",
            Self::UartMoved => "bytes moved on the serial line",
            Self::Throttled => "the firmware throttled",
            Self::ClockOff => "the clock was not the one asked for",
            Self::CounterOverflow => "a counter overflowed",
            Self::DifferentWork => "the logits differ from the first run's",
        })
    }
}

/// A flag that is on at either end, or that has come to be set in between.
fn is_throttled(flags: [Option<u32>; 2]) -> bool {
    let on = flags
        .iter()
        .flatten()
        .any(|flags| flags & THROTTLED_NOW != 0);
    let came = match flags {
        [Some(before), Some(after)] => {
            ((after & !before) >> THROTTLED_SINCE_SHIFT) & THROTTLED_NOW != 0
        }
        _ => false,
    };
    on || came
}

fn is_clock_off(measured_hz: Option<u64>, asked_hz: Option<u64>) -> bool {
    match (measured_hz, asked_hz) {
        (Some(measured), Some(asked)) => {
            measured.abs_diff(asked) as f64 > CLOCK_TOLERANCE * asked as f64
        }
        _ => false,
    }
}

/// Returns the first reason why a window is void.
pub fn breach(window: &Window, expected: &Expected) -> Option<Breach> {
    Breach::ALL
        .into_iter()
        .find(|breach| breach.holds(window, expected))
}

/// Returns whether few enough windows are void for a verdict: at most 20 %, and not all of them.
pub const fn enough(n_void: usize, n: usize) -> bool {
    n_void < n && n_void * 100 <= n * MAX_VOID_PERCENT
}
