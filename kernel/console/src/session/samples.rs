//! Repeated measurements and what they come to.

use crate::json::Object;
use alloc::vec::Vec;

/// The times of equal runs, all kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Samples {
    seconds: Vec<f64>,
    /// Runs that were thrown away because an interrupt was taken in their window.
    pub void_runs: usize,
}

impl Samples {
    /// Room for `runs`, so that no run allocates.
    pub(super) fn with_capacity(runs: usize) -> Self {
        Self {
            seconds: Vec::with_capacity(runs),
            void_runs: 0,
        }
    }

    pub(super) fn push_us(&mut self, us: u64) {
        self.seconds.push(us as f64 / 1e6);
    }

    pub(super) fn len(&self) -> usize {
        self.seconds.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// 0 without samples.
    pub(super) fn mean(&self) -> f64 {
        self.seconds.iter().fold(0.0, |sum, seconds| sum + seconds) / self.len().max(1) as f64
    }

    /// The sample standard deviation (n − 1); 0 for fewer than two samples.
    pub(super) fn sd(&self) -> f64 {
        let mean = self.mean();
        let squares = self
            .seconds
            .iter()
            .fold(0.0, |sum, s| sum + (s - mean) * (s - mean));
        libm::sqrt(squares / self.len().saturating_sub(1).max(1) as f64)
    }

    /// The time below which a share of the samples lies (nearest rank).
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let rank = libm::ceil(share * sorted.len() as f64) as usize;
        sorted.get(rank.max(1) - 1).copied().unwrap_or(0.0)
    }

    /// All samples, and what they come to.
    pub(super) fn write_fields(&self, object: &mut Object<'_>) {
        object
            .field("runs", self.len())
            .field("void_runs", self.void_runs);
        object.array("samples_s", |array| {
            self.seconds.iter().for_each(|&seconds| {
                array.push(seconds);
            });
        });
        let known = |figure: f64| Some(figure).filter(|_| !self.is_empty());
        object
            .field("mean_s", known(self.mean()))
            .field("sd_s", known(self.sd()))
            .field("min_s", known(self.quantile(0.0)))
            .field("p50_s", known(self.quantile(0.5)))
            .field("p99_s", known(self.quantile(0.99)));
    }
}

/// Numbers in an order that nobody chose, the same for the same seed (SplitMix64; Steele et al. 2014).
pub(super) fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut state = seed;
    for last in (1..n).rev() {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        order.swap(last, (z % (last as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::{Samples, shuffled};

    #[test]
    fn known_figures() {
        let mut samples = Samples::with_capacity(4);
        for us in [4_000_000, 2_000_000, 8_000_000, 6_000_000] {
            samples.push_us(us);
        }
        assert_eq!(samples.mean(), 5.0);
        assert!((samples.sd() - (20.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(
            [0.0, 0.5, 0.75, 0.99].map(|q| samples.quantile(q)),
            [2.0, 4.0, 6.0, 8.0]
        );
    }

    #[test]
    fn every_number_once_and_seeds_differ() {
        let mut order = shuffled(20, 1);
        assert_ne!(order, shuffled(20, 2));
        assert_eq!(order, shuffled(20, 1));
        order.sort_unstable();
        assert_eq!(order, (0..20).collect::<Vec<_>>());
    }
}
