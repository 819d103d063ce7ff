//! Numbers that compare one model's logits with another's; all sums are f64.

pub use llm::perplexity::{Mean, log_sum_exp, nll};

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

/// The probabilities that logits stand for.
pub struct Distribution<'l> {
    logits: &'l [f32],
    log_sum: f64,
}

impl<'l> Distribution<'l> {
    /// `p_i ∝ exp(logit_i)`.
    pub fn new(logits: &'l [f32]) -> Self {
        let log_sum = log_sum_exp(logits);
        Distribution { logits, log_sum }
    }

    /// `−ln p(id)`, in nats.
    ///
    /// # Panics
    /// There is no logit of `id`.
    pub fn nll(&self, id: u32) -> f64 {
        self.log_sum - f64::from(self.logits[id as usize])
    }

    /// The most likely token, the first of equal ones.
    pub fn argmax(&self) -> usize {
        argmax(self.logits)
    }

    /// Kullback-Leibler divergence of `other` from this: `Σ p · ln(p / p_other)`, in nats.
    pub fn divergence_of(&self, other: &Distribution<'_>) -> f64 {
        let logits = self.logits.iter().zip(other.logits);
        logits
            .map(|(p, o)| {
                let log_p = f64::from(*p) - self.log_sum;
                log_p.exp() * (log_p - (f64::from(*o) - other.log_sum))
            })
            .sum()
    }
}

/// [`Distribution::divergence_of`] of two vectors of logits.
pub fn kl_divergence(base: &[f32], other: &[f32]) -> f64 {
    Distribution::new(base).divergence_of(&Distribution::new(other))
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

#[cfg(test)]
mod tests {
    use super::{argmax, cosine, kl_divergence, max_difference};

    #[test]
    fn known_values() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0, -1.0]), 1);
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
}
