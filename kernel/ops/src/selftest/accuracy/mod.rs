//! How far every kernel is from the same formula in f64, on shapes of real models.
//!
//! Errors are relative to the largest magnitude of the exact result. What a bound says is what f32 can
//! hold: a wrong index, sign, scale or constant misses it by orders of magnitude.

mod attention;
mod composed;
mod products;
mod vectors;

use super::random::Random;
use crate::arena::{Line, OutOfMemory};
use crate::lanes::{F32x4, flat};

/// Memory that [`run`] needs.
pub const BYTES: usize = 16 << 20;

/// What one check came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// What was computed.
    pub check: &'static str,
    /// How many values were compared.
    pub values: usize,
    /// The largest error; not finite if a value was not.
    pub error: f64,
    /// The largest error that is right.
    pub limit: f64,
}

impl Accuracy {
    /// Whether the kernel is right.
    pub fn is_right(&self) -> bool {
        self.error <= self.limit && self.values > 0
    }
}

/// Sees each check's result before it is compared, and may spoil it: how the self-test is tested.
pub type Spoil<'a> = dyn FnMut(&'static str, &mut [F32x4]) + 'a;

/// Runs all checks in `memory` and reports each.
///
/// # Errors
/// [`OutOfMemory`] when `memory` has less than [`BYTES`].
pub fn run(
    memory: &mut [Line],
    spoil: &mut Spoil<'_>,
    report: &mut dyn FnMut(Accuracy),
) -> Result<(), OutOfMemory> {
    products::run(memory, spoil, report)?;
    vectors::run(memory, spoil, report)?;
    attention::run(memory, spoil, report)?;
    composed::run(memory, spoil, report)
}

/// The largest error of results against exact ones, taken in piece by piece.
struct Worst {
    values: usize,
    error: f64,
    magnitude: f64,
}

impl Worst {
    fn new() -> Self {
        Worst {
            values: 0,
            error: 0.0,
            magnitude: 0.0,
        }
    }

    fn value(&mut self, got: f32, exact: f64) {
        let error = (f64::from(got) - exact).abs();
        self.values += 1;
        // A NaN stays: nothing is greater than it.
        if error > self.error || error.is_nan() {
            self.error = error;
        }
        self.magnitude = self.magnitude.max(exact.abs());
    }

    fn lanes(&mut self, got: &[F32x4], exact: impl Iterator<Item = f64>) {
        flat(got)
            .iter()
            .zip(exact)
            .for_each(|(&got, exact)| self.value(got, exact));
    }

    fn report(self, check: &'static str, limit: f64) -> Accuracy {
        Accuracy {
            check,
            values: self.values,
            error: self.error / self.magnitude,
            limit,
        }
    }
}

/// `x` with values from −`scale` to `scale`.
fn fill(x: &mut [F32x4], seed: u64, scale: f32) {
    Random::new(seed).fill(x, scale);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn all(spoil: &mut Spoil<'_>) -> Vec<Accuracy> {
        let mut memory = vec![Line::ZERO; BYTES / Line::BYTES];
        let mut seen = Vec::new();
        run(&mut memory, spoil, &mut |accuracy| seen.push(accuracy)).unwrap();
        seen
    }

    #[test]
    fn every_kernel_is_right() {
        let seen = all(&mut |_, _| {});
        for accuracy in &seen {
            assert!(accuracy.is_right(), "{accuracy:?}");
        }
        let checks: BTreeSet<_> = seen.iter().map(|accuracy| accuracy.check).collect();
        assert_eq!(
            checks.len(),
            seen.len(),
            "every check has a name of its own"
        );
        assert!(seen.len() >= 35, "{checks:?}");
    }

    #[test]
    fn one_planted_error_in_any_kernel_fails_it() {
        let checks: Vec<_> = all(&mut |_, _| {}).iter().map(|a| a.check).collect();
        let mut planted = 0;
        // Each check spoils its own result only, so that one run can plant an error in every one.
        for accuracy in all(&mut |_, result| {
            let largest = flat(result).iter().fold(0.0f32, |a, b| a.max(b.abs()));
            result[result.len() / 2].0[1] += largest * 1e-2;
        }) {
            assert!(!accuracy.is_right(), "{accuracy:?}");
            planted += 1;
        }
        assert_eq!(planted, checks.len());
    }

    #[test]
    fn a_result_that_is_no_number_fails() {
        for accuracy in all(&mut |_, result| result[0].0[0] = f32::NAN) {
            assert!(!accuracy.is_right(), "{accuracy:?}");
        }
    }
}
