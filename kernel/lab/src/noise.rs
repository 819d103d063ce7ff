//! The shape of detours of a fixed work (FWQ).

use crate::statistics::t::mean;
use alloc::vec::Vec;

/// What equal works came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The shortest.
    pub min: u64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation (n).
    pub sd: f64,
    /// The third standardized moment; nothing where nothing varies.
    pub skew: Option<f64>,
    /// The fourth, less that of the normal distribution; nothing where nothing varies.
    pub excess_kurtosis: Option<f64>,
    /// (mean − min) ÷ min.
    pub relative_noise: f64,
    /// How many samples lie 2^k to 2^(k + 1) − 1 above the shortest, by k + 1; those equal to it first.
    pub histogram: Vec<usize>,
}

/// Returns the shape; nothing without samples or with a work that took no time.
pub fn shape(samples: &[u64]) -> Option<Shape> {
    let min = *samples.iter().min().filter(|min| **min > 0)?;
    let floats: Vec<f64> = samples.iter().map(|x| *x as f64).collect();
    let mean_ = mean(&floats)?;
    let moment = |power: i32| {
        let sum: f64 = floats
            .iter()
            .map(|x| libm::pow(x - mean_, power.into()))
            .sum();
        sum / floats.len() as f64
    };
    let sd = libm::sqrt(moment(2));
    let standardized = |power: i32| (sd > 0.0).then(|| moment(power) / libm::pow(sd, power.into()));
    let mut histogram = Vec::new();
    for sample in samples {
        let bin = (u64::BITS - (sample - min).leading_zeros()) as usize;
        histogram.resize(histogram.len().max(bin + 1), 0);
        histogram[bin] += 1;
    }
    Some(Shape {
        min,
        mean: mean_,
        sd,
        skew: standardized(3),
        excess_kurtosis: standardized(4).map(|k| k - 3.0),
        relative_noise: (mean_ - min as f64) / min as f64,
        histogram,
    })
}

/// Returns the places and values of the `n` longest samples, the longest first.
pub fn longest(samples: &[u64], n: usize) -> Vec<(usize, u64)> {
    let mut all: Vec<(usize, u64)> = samples.iter().copied().enumerate().collect();
    all.sort_by_key(|(_, value)| core::cmp::Reverse(*value));
    all.truncate(n);
    all
}

#[cfg(test)]
mod tests {
    use super::{longest, shape};

    #[test]
    fn known_figures() {
        let found = shape(&[10, 10, 10, 14]).unwrap();
        assert_eq!((found.min, found.mean), (10, 11.0));
        assert!((found.sd - 3.0f64.sqrt()).abs() < 1e-12);
        assert!((found.skew.unwrap() - 6.0 / 3.0f64.powf(1.5)).abs() < 1e-12);
        assert!((found.excess_kurtosis.unwrap() - (21.0 / 9.0 - 3.0)).abs() < 1e-12);
        assert!((found.relative_noise - 0.1).abs() < 1e-12);
        assert_eq!(found.histogram, [3, 0, 0, 1]);
        assert_eq!(shape(&[7, 7]).unwrap().skew, None);
        assert_eq!((shape(&[]), shape(&[0])), (None, None));
        assert_eq!(longest(&[3, 9, 4, 9], 2), [(1, 9), (3, 9)]);
    }
}
