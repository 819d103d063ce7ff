//! What answers cost in energy, from the user's own figures.

use crate::statistics::t::{mean, sd};

const J_PER_KWH: f64 = 3.6e6;

/// A figure with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

impl Figure {
    /// Returns the product, with the relative errors added in squares.
    pub fn times(self, other: Self) -> Self {
        let value = self.value * other.value;
        let errors = libm::hypot(self.error * other.value, other.error * self.value);
        Self {
            value,
            error: errors,
        }
    }

    /// Returns the figure as often as `factor` says.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            error: self.error * libm::fabs(factor),
        }
    }
}

/// Returns joules per token from watts and the seconds per token of each window; nothing for fewer than two.
pub fn joules_per_token(watts: Figure, s_per_token: &[f64]) -> Option<Figure> {
    let error = sd(s_per_token)? / libm::sqrt(s_per_token.len() as f64);
    let value = mean(s_per_token)?;
    Some(watts.times(Figure { value, error }))
}

/// Returns joules per 1 000 requests of `tokens` each.
pub fn joules_per_1000_requests(joules_per_token: Figure, tokens: usize) -> Figure {
    joules_per_token.scaled(1000.0 * tokens as f64)
}

/// Returns grams of CO₂ for so many joules at `g_per_kwh`.
pub fn grams(joules: Figure, g_per_kwh: f64) -> Figure {
    joules.scaled(g_per_kwh / J_PER_KWH)
}

#[cfg(test)]
mod tests {
    use super::{Figure, grams, joules_per_1000_requests, joules_per_token};

    #[test]
    fn known_figures() {
        let watts = Figure {
            value: 6.0,
            error: 0.3,
        };
        let joules = joules_per_token(watts, &[0.1, 0.1, 0.1]).unwrap();
        assert!((joules.value - 0.6).abs() < 1e-12 && (joules.error - 0.03).abs() < 1e-12);
        let many = joules_per_1000_requests(joules, 100);
        assert!((many.value - 60_000.0).abs() < 1e-6);
        let grams = grams(many, 360.0);
        assert!((grams.value - 6.0).abs() < 1e-9 && (grams.error - 0.3).abs() < 1e-9);
        let varied = joules_per_token(
            Figure {
                error: 0.0,
                ..watts
            },
            &[0.1, 0.2],
        )
        .unwrap();
        assert!((varied.error - 6.0 * 0.05).abs() < 1e-12);
        assert_eq!(joules_per_token(watts, &[0.1]), None);
    }
}
