//! Many tests at once (Holm, Scand. J. Statist. 1979).

use alloc::vec;
use alloc::vec::Vec;

/// Returns the p values that hold for the table as a whole, in the same order.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let (mut adjusted, mut largest) = (vec![0.0; p.len()], 0.0f64);
    for (rank, at) in order.into_iter().enumerate() {
        largest = largest.max((p[at] * (p.len() - rank) as f64).min(1.0));
        adjusted[at] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_figures() {
        let found = super::holm(&[0.01, 0.04, 0.03, 0.5]);
        for (found, known) in found.iter().zip([0.04, 0.09, 0.09, 0.5]) {
            assert!((found - known).abs() < 1e-12);
        }
    }
}
