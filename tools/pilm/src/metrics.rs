//! Numbers that compare one model's logits with another's; all sums are f64.

/// Index of the greatest value, the first of equal ones.
pub fn argmax(logits: &[f32]) -> usize {
    let mut best = 0;
    for (i, v) in logits.iter().enumerate() {
        if *v > logits[best] {
            best = i;
        }
    }
    best
}

/// `ln Σ exp(x)`.
pub fn log_sum_exp(logits: &[f32]) -> f64 {
    let max = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    max + logits
        .iter()
        .map(|v| (f64::from(*v) - max).exp())
        .sum::<f64>()
        .ln()
}

/// `−ln p(id)`, in nats.
pub fn nll(logits: &[f32], id: u32) -> f64 {
    log_sum_exp(logits) - f64::from(logits[id as usize])
}

/// Kullback-Leibler divergence of `other` from `base`: `Σ p_base · ln(p_base / p_other)`, in nats.
pub fn kl_divergence(base: &[f32], other: &[f32]) -> f64 {
    let (base_sum, other_sum) = (log_sum_exp(base), log_sum_exp(other));
    base.iter()
        .zip(other)
        .map(|(b, o)| {
            let log_p = f64::from(*b) - base_sum;
            log_p.exp() * (log_p - (f64::from(*o) - other_sum))
        })
        .sum()
}

/// Cosine of the angle between two vectors.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| {
        x.iter()
            .zip(y)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum::<f64>()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Greatest difference between two vectors.
pub fn max_difference(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs())
        .fold(0.0, f64::max)
}

/// Mean and its standard error of a stream of numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    n: u64,
    sum: f64,
    sum_of_squares: f64,
}

impl Mean {
    /// Takes in one number.
    pub fn add(&mut self, value: f64) {
        self.n += 1;
        self.sum += value;
        self.sum_of_squares += value * value;
    }

    /// How many numbers were taken in.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Their mean; NaN of none.
    pub fn mean(&self) -> f64 {
        self.sum / self.n as f64
    }

    /// Standard error of the mean, as ggml's perplexity tool reckons it.
    pub fn standard_error(&self) -> f64 {
        let variance = self.sum_of_squares / self.n as f64 - self.mean() * self.mean();
        (variance.max(0.0) / (self.n as f64 - 1.0)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::{Mean, argmax, cosine, kl_divergence, log_sum_exp, max_difference, nll};

    #[test]
    fn known_values() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0, -1.0]), 1);
        assert!((log_sum_exp(&[0.0, 0.0]) - 2f64.ln()).abs() < 1e-12);
        assert!((log_sum_exp(&[1000.0, 1000.0]) - 1000.0 - 2f64.ln()).abs() < 1e-9);
        assert!((nll(&[0.0; 4], 2) - 4f64.ln()).abs() < 1e-12);
        assert!((cosine(&[1.0, 0.0], &[1.0, 1.0]) - 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(max_difference(&[1.0, 2.0], &[1.5, 0.0]), 2.0);
    }

    #[test]
    fn divergence_is_zero_of_itself_and_knows_direction() {
        // p = (3/4, 1/4), q = (1/2, 1/2).
        let (p, q) = ([3f32.ln(), 0.0], [5.0, 5.0]);
        assert!(kl_divergence(&p, &p).abs() < 1e-12);
        let expected = 0.75 * 1.5f64.ln() + 0.25 * 0.5f64.ln();
        assert!((kl_divergence(&p, &q) - expected).abs() < 1e-7);
    }

    #[test]
    fn error_of_a_mean() {
        let mut mean = Mean::default();
        [1.0, 2.0, 3.0, 4.0].iter().for_each(|v| mean.add(*v));
        assert_eq!(mean.mean(), 2.5);
        assert!((mean.standard_error() - (1.25f64 / 3.0).sqrt()).abs() < 1e-12);
    }
}
