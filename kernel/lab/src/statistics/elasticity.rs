//! The slope of ln y on ln x: by how many percent y grows with one percent of x.

use super::{Interval, t};
use alloc::vec::Vec;

/// Returns the least-squares slope with its 95 % interval (t, n − 2 degrees of freedom).
///
/// Nothing for fewer than three points, a value that is not positive, or equal x.
pub fn elasticity(points: &[(f64, f64)]) -> Option<Interval> {
    if points.len() < 3 || points.iter().any(|(x, y)| !(*x > 0.0 && *y > 0.0)) {
        return None;
    }
    let xs: Vec<f64> = points.iter().map(|(x, _)| libm::log(*x)).collect();
    let ys: Vec<f64> = points.iter().map(|(_, y)| libm::log(*y)).collect();
    let (mean_x, mean_y) = (t::mean(&xs)?, t::mean(&ys)?);
    let squares: f64 = xs.iter().map(|x| (x - mean_x) * (x - mean_x)).sum();
    if squares <= 0.0 {
        return None;
    }
    let pairs = || xs.iter().zip(&ys);
    let slope = pairs()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum::<f64>()
        / squares;
    let residual = |(x, y): (&f64, &f64)| y - mean_y - slope * (x - mean_x);
    let rest: f64 = pairs().map(residual).map(|r| r * r).sum();
    let df = points.len() - 2;
    let half = t::quantile(0.975, df) * libm::sqrt(rest / df as f64 / squares);
    Some(Interval {
        estimate: slope,
        low: slope - half,
        high: slope + half,
    })
}

#[cfg(test)]
mod tests {
    use super::elasticity;

    #[test]
    fn known_slopes() {
        let line: Vec<_> = [1.0, 2.0, 4.0, 8.0]
            .map(|x: f64| (x, 3.0 * x.sqrt()))
            .into();
        assert!((elasticity(&line).unwrap().estimate - 0.5).abs() < 1e-12);
        assert_eq!(elasticity(&[(1.0, 1.0); 4]), None);
        assert_eq!(elasticity(&[(1.0, 1.0), (2.0, 0.0), (3.0, 1.0)]), None);
    }
}
