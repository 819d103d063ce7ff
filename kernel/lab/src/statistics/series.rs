//! Samples in the order of time.

use super::robust::median;
use super::t::mean;

/// Returns the lag-1 autocorrelation; nothing where nothing varies.
pub fn lag1(samples: &[f64]) -> Option<f64> {
    let mean = mean(samples)?;
    let squares: f64 = samples.iter().map(|x| (x - mean) * (x - mean)).sum();
    let products: f64 = samples
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    (squares > 0.0).then(|| products / squares)
}

/// Returns how many independent samples these are worth, n (1 − r) ÷ (1 + r), never more than there are.
pub fn effective_n(samples: &[f64]) -> f64 {
    let r = lag1(samples).unwrap_or(0.0).max(0.0);
    samples.len() as f64 * (1.0 - r) / (1.0 + r)
}

/// Returns the median of the last quarter over that of the first; nothing for fewer than four samples.
pub fn last_over_first_quarter(samples: &[f64]) -> Option<f64> {
    let quarter = samples.len() / 4;
    let first = median(&samples[..quarter])?;
    Some(median(&samples[samples.len() - quarter..])? / first)
}

#[cfg(test)]
mod tests {
    use super::{effective_n, lag1, last_over_first_quarter};

    #[test]
    fn known_figures() {
        assert!((lag1(&[1.0, 2.0, 3.0, 4.0]).unwrap() - 0.25).abs() < 1e-12);
        assert!((effective_n(&[1.0, 2.0, 3.0, 4.0]) - 4.0 * 0.75 / 1.25).abs() < 1e-12);
        assert_eq!(effective_n(&[1.0, 2.0, 1.0, 2.0]), 4.0);
        assert_eq!(last_over_first_quarter(&[4.0, 9.0, 9.0, 2.0]), Some(0.5));
        assert_eq!(last_over_first_quarter(&[1.0; 3]), None);
    }
}
