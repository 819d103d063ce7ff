//! What statistics mean: pure functions of intervals, void windows and whether a clock can be believed.

use crate::statistics::elasticity::elasticity;
use crate::statistics::{Interval, contrast};
use alloc::vec::Vec;
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

/// From here on gains are more than additive: ln 1.10.
pub const COMPLEMENTARY_FROM: f64 = 0.095_310_179_804_324_87;

/// The smallest span of clocks of which a slope is formed.
const MIN_CLOCK_SPAN: f64 = 1.25;

/// The widest interval of an elasticity that decides.
const MAX_ELASTICITY_WIDTH: f64 = 0.4;

/// Judges the per-block values of ln I; nothing where a cell is not measured.
pub fn composition(contrasts: Option<Result<Vec<f64>, Reason>>, emulated: bool) -> Composition {
    match contrasts {
        None => Composition::NotMeasured,
        Some(contrasts) => match decide(contrasts, emulated) {
            Err(reason) => Composition::Inconclusive(reason),
            Ok(i) if i.low > COMPLEMENTARY_FROM => Composition::Complementary,
            Ok(i) if i.low > -COMPLEMENTARY_FROM && i.high < COMPLEMENTARY_FROM => {
                Composition::Additive
            }
            Ok(_) => Composition::Inconclusive(Reason::Wide),
        },
    }
}

/// Judges per-block values of ln(time of the second ÷ time of the first).
pub fn difference(contrasts: Result<Vec<f64>, Reason>, emulated: bool) -> Difference {
    match decide(contrasts, emulated) {
        Err(reason) => Difference::Inconclusive(reason),
        Ok(i) if i.high < 0.0 => Difference::Faster,
        Ok(i) if i.low > 0.0 => Difference::Slower,
        Ok(_) => Difference::None,
    }
}

fn decide(contrasts: Result<Vec<f64>, Reason>, emulated: bool) -> Result<Interval, Reason> {
    if emulated {
        return Err(Reason::Emulated);
    }
    let (_, interval) = contrast::interval(&contrasts?).ok_or(Reason::TooFew)?;
    Ok(interval)
}

/// Judges points of measured clock and speed.
pub fn clock(points: Result<Vec<(f64, f64)>, Reason>, emulated: bool) -> Clock {
    match slope(points, emulated) {
        Err(reason) => Clock::Inconclusive(reason),
        Ok(e) if e.low > 0.8 => Clock::ComputeBound,
        Ok(e) if e.high < 0.2 => Clock::MemoryBound,
        Ok(_) => Clock::Mixed,
    }
}

fn slope(points: Result<Vec<(f64, f64)>, Reason>, emulated: bool) -> Result<Interval, Reason> {
    if emulated {
        return Err(Reason::Emulated);
    }
    let points = points?;
    let lowest = points
        .iter()
        .map(|(hz, _)| *hz)
        .fold(f64::INFINITY, f64::min);
    let highest = points.iter().map(|(hz, _)| *hz).fold(0.0, f64::max);
    if points.len() < 3 {
        return Err(Reason::TooFew);
    }
    if highest < MIN_CLOCK_SPAN * lowest {
        return Err(Reason::Span);
    }
    let slope = elasticity(&points).ok_or(Reason::TooFew)?;
    match slope.width() > MAX_ELASTICITY_WIDTH {
        true => Err(Reason::Wide),
        false => Ok(slope),
    }
}

/// Judges the measured median against the interval that was predicted.
pub fn planner(predicted: &Interval, median: Result<f64, Reason>, emulated: bool) -> Planner {
    match median {
        _ if emulated => Planner::Inconclusive(Reason::Emulated),
        Err(reason) => Planner::Inconclusive(reason),
        Ok(median) if predicted.contains(median) => Planner::Inside,
        Ok(_) => Planner::Outside,
    }
}
