//! Statistics that a few wild samples do not move.

use alloc::vec::Vec;

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Returns the median; of an even number the mean of the middle two.
pub fn median(samples: &[f64]) -> Option<f64> {
    let sorted = sorted(samples);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(match sorted.len() % 2 {
        1 => upper,
        _ => (sorted[middle - 1] + upper) / 2.0,
    })
}

/// Returns the median distance from the median.
pub fn mad(samples: &[f64]) -> Option<f64> {
    let median_ = median(samples)?;
    let distances: Vec<f64> = samples.iter().map(|x| libm::fabs(x - median_)).collect();
    median(&distances)
}

/// Returns the value below which a share of the samples lies (nearest rank).
pub fn quantile(samples: &[f64], share: f64) -> Option<f64> {
    let rank = libm::ceil(share * samples.len() as f64) as usize;
    sorted(samples).get(rank.max(1) - 1).copied()
}

/// How far a sample lies beyond the quartiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// By more than 1.5 interquartile ranges.
    Mild,
    /// By more than 3.
    Severe,
}

/// Returns the label of each sample by Tukey's fences (Exploratory Data Analysis, 1977). Nothing is dropped.
pub fn labels(samples: &[f64]) -> Vec<Option<Label>> {
    let (Some(low), Some(high)) = (quantile(samples, 0.25), quantile(samples, 0.75)) else {
        return Vec::new();
    };
    let label = |x: &f64| {
        let beyond = (low - x).max(x - high);
        match high - low {
            range if beyond > 3.0 * range => Some(Label::Severe),
            range if beyond > 1.5 * range => Some(Label::Mild),
            _ => None,
        }
    };
    samples.iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::{Label, labels, mad, median, quantile};

    #[test]
    fn known_figures() {
        let samples = [4.0, 2.0, 8.0, 6.0];
        assert_eq!((median(&samples), mad(&samples)), (Some(5.0), Some(2.0)));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        let found = [0.0, 0.5, 0.75, 0.99].map(|q| quantile(&samples, q).unwrap());
        assert_eq!(found, [2.0, 4.0, 6.0, 8.0]);
        assert_eq!((median(&[]), quantile(&[], 0.5)), (None, None));
    }

    #[test]
    fn fences_label() {
        let mut samples = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        assert!(labels(&samples).iter().all(Option::is_none));
        samples[7] = 13.0;
        assert_eq!(labels(&samples)[7], Some(Label::Mild));
        samples[7] = 19.0;
        assert_eq!(labels(&samples)[7], Some(Label::Severe));
    }
}
