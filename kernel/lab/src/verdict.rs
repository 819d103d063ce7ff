//! What statistics mean: pure functions of intervals, void windows and whether a clock can be believed.

use core::fmt;

/// Whether quantization and cores gain more together than each alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Composition {
    /// The gains multiply to more: the whole interval of ln I is above ln 1.10.
    Complementary,
    /// The gains multiply: the whole interval is within ± ln 1.10.
    Additive,
    /// The interval decides neither.
    Inconclusive(Reason),
    /// A cell of the four is missing.
    NotMeasured,
}

/// What a speed depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// On the core clock: the interval of the elasticity is above 0.8.
    ComputeBound,
    /// On the memory: it is below 0.2.
    MemoryBound,
    /// On both.
    Mixed,
    /// Nobody can say.
    Inconclusive(Reason),
}

/// Whether one is faster than the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Nothing says so.
    None,
    /// The second is faster.
    Faster,
    /// The second is slower.
    Slower,
    /// Nobody can say.
    Inconclusive(Reason),
}

/// Whether a prediction held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planner {
    /// The measured median is within the predicted interval.
    Inside,
    /// It is not: the machine has a cost that the model does not know.
    Outside,
    /// Nobody can say.
    Inconclusive(Reason),
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// An emulator's clock took the times.
    Emulated,
    /// More than 20 % of the windows are void.
    Void,
    /// Too few blocks for an interval.
    TooFew,
    /// The interval is too wide.
    Wide,
    /// The clocks span too little.
    Span,
    /// The measured clock does not follow the one asked for.
    Clamped,
    /// The firmware throttled.
    Throttled,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Emulated => "emulated",
            Self::Void => "more than 20 % of the windows are void",
            Self::TooFew => "too few blocks",
            Self::Wide => "the interval is too wide",
            Self::Span => "the clocks span less than 1.25×",
            Self::Clamped => "the clock does not follow",
            Self::Throttled => "throttled",
        })
    }
}
