//! Perplexity as ggml's tool measures it: the part that the firmware and the host tool share.
//!
//! The text's tokens are cut into chunks, each chunk is evaluated on its own, and the logits of its
//! second half score the tokens after them: with [`CHUNK_LEN`], positions 256..=510 score tokens
//! 257..=511. No beginning-of-sequence token is added. All sums are f64.

/// Tokens of a chunk.
pub const CHUNK_LEN: usize = 512;

/// The first position of a chunk of `chunk_len` tokens whose logits score.
pub fn first_scored(chunk_len: usize) -> usize {
    chunk_len / 2
}

/// `ln Σ exp(x)`.
pub fn log_sum_exp(logits: &[f32]) -> f64 {
    let max = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = logits.iter().map(|v| libm::exp(f64::from(*v) - max)).sum();
    max + libm::log(sum)
}

/// `−ln p(id)`, in nats.
///
/// # Panics
/// There is no logit of `id`.
pub fn nll(logits: &[f32], id: u32) -> f64 {
    log_sum_exp(logits) - f64::from(logits[id as usize])
}

/// Perplexity of tokens with this mean of `−ln p`.
pub fn perplexity(nll: &Mean) -> f64 {
    libm::exp(nll.mean())
}

/// Standard error of [`perplexity`], to first order.
pub fn standard_error(nll: &Mean) -> f64 {
    perplexity(nll) * nll.standard_error()
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
        libm::sqrt(variance.max(0.0) / (self.n as f64 - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::{Mean, log_sum_exp, nll, perplexity, standard_error};

    #[test]
    fn known_values() {
        assert!((log_sum_exp(&[0.0, 0.0]) - 2f64.ln()).abs() < 1e-12);
        assert!((log_sum_exp(&[1000.0, 1000.0]) - 1000.0 - 2f64.ln()).abs() < 1e-9);
        assert!((nll(&[0.0; 4], 2) - 4f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn error_of_a_mean() {
        let mut mean = Mean::default();
        [1.0, 2.0, 3.0, 4.0].iter().for_each(|v| mean.add(*v));
        assert_eq!((mean.n(), mean.mean()), (4, 2.5));
        assert!((mean.standard_error() - (1.25f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((perplexity(&mean) - 2.5f64.exp()).abs() < 1e-12);
        let error = 2.5f64.exp() * (1.25f64 / 3.0).sqrt();
        assert!((standard_error(&mean) - error).abs() < 1e-12);
    }
}
