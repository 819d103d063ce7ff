//! Mean, standard deviation, and the interval by Student's t (Student, Biometrika 1908).

use super::Interval;

/// Returns the mean; nothing without samples.
pub fn mean(samples: &[f64]) -> Option<f64> {
    let sum: f64 = samples.iter().sum();
    (!samples.is_empty()).then(|| sum / samples.len() as f64)
}

/// Returns the sample standard deviation (n − 1); nothing for fewer than two samples.
pub fn sd(samples: &[f64]) -> Option<f64> {
    let mean = mean(samples).filter(|_| samples.len() > 1)?;
    let squares: f64 = samples.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some(libm::sqrt(squares / (samples.len() - 1) as f64))
}

/// Returns the mean with its 95 % interval; nothing for fewer than two samples.
pub fn interval(samples: &[f64]) -> Option<Interval> {
    let (mean, sd) = (mean(samples)?, sd(samples)?);
    let half = quantile(0.975, samples.len() - 1) * sd / libm::sqrt(samples.len() as f64);
    Some(Interval {
        estimate: mean,
        low: mean - half,
        high: mean + half,
    })
}

/// Returns the quantile of Student's t for `df` > 0 and 0.5 ≤ `p` < 1, by bisection.
pub fn quantile(p: f64, df: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while distribution(high, df) < p {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match distribution(middle, df) < p {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

/// The distribution function for t ≥ 0: a finite sum for whole `df` (Abramowitz and Stegun 26.7.3, 26.7.4).
fn distribution(t: f64, df: usize) -> f64 {
    let n = df as f64;
    let angle = libm::atan(t / libm::sqrt(n));
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let square = cosine * cosine;
    let odd = df % 2 == 1;
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = if df == 1 { 0.0 } else { term };
    let mut k = if odd { 3 } else { 2 };
    while k < df {
        term *= square * (k - 1) as f64 / k as f64;
        sum += term;
        k += 2;
    }
    let within = match odd {
        true => (angle + sine * sum) * core::f64::consts::FRAC_2_PI,
        false => sine * sum,
    };
    0.5 + within / 2.0
}

#[cfg(test)]
mod tests {
    use super::{interval, quantile};

    /// Of the printed tables.
    #[test]
    fn quantiles_of_the_tables() {
        for (df, known) in [
            (1, 12.7062),
            (2, 4.3027),
            (3, 3.1824),
            (4, 2.7764),
            (9, 2.2622),
            (19, 2.0930),
            (30, 2.0423),
        ] {
            assert!((quantile(0.975, df) - known).abs() < 1e-4, "{df}");
        }
    }

    #[test]
    fn known_interval() {
        let found = interval(&[1.0, 2.0, 3.0]).unwrap();
        assert!((found.estimate - 2.0).abs() < 1e-12);
        assert!((found.width() / 2.0 - 4.30265 / 3.0f64.sqrt()).abs() < 1e-4);
        assert_eq!(interval(&[1.0]), None);
    }
}
