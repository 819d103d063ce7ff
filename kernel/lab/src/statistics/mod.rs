//! Few statistics, exact where that is possible.
//!
//! | module | holds |
//! |---|---|
//! | [`t`] | mean, standard deviation, interval by Student's t |
//! | [`rank`] | signed-rank interval, Mann–Whitney test, Hodges–Lehmann shift |
//! | [`robust`] | median, MAD, quantiles, Tukey's fences |
//! | [`series`] | lag-1 autocorrelation, effective n, first against last quarter |
//! | [`multiple`] | Holm's correction |
//! | [`contrast`] | which interval decides |
//! | [`elasticity`] | the slope of ln y on ln x |

pub mod contrast;
pub mod elasticity;
pub mod multiple;
pub mod rank;
pub mod robust;
pub mod series;
pub mod t;

/// An estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Returns whether a value lies within.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Returns how wide it is.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}
