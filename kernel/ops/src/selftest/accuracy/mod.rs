//! How far every kernel is from the same formula in f64, on shapes of real models.
//!
//! Errors are relative to the largest magnitude of the exact result. What a bound says is what f32 can
//! hold: a wrong index, sign, scale or constant misses it by orders of magnitude.

mod attention;
mod composed;
mod exact;
mod products;
mod vectors;

use super::Outcome;
use super::random::Random;
use crate::arena::{Arena, Line, OutOfMemory};
use crate::lanes::{F32x4, flat};

/// Memory that [`run`] needs.
pub const BYTES: usize = 16 << 20;

/// Sees each check's result before it is compared, and may spoil it: how the self-test is tested.
pub type Spoil<'a> = dyn FnMut(&'static str, &mut [F32x4]) + 'a;

/// Runs all checks in `memory` and reports each.
///
/// # Errors
/// [`OutOfMemory`] when `memory` has less than [`BYTES`].
pub fn run(
    memory: &mut [Line],
    spoil: &mut Spoil<'_>,
    report: &mut dyn FnMut(Outcome),
) -> Result<(), OutOfMemory> {
    let mut checks = Checks {
        memory,
        spoil,
        report,
    };
    products::run(&mut checks)?;
    vectors::run(&mut checks)?;
    attention::run(&mut checks)?;
    composed::run(&mut checks)
}

/// What all checks have in common.
struct Checks<'c> {
    memory: &'c mut [Line],
    spoil: &'c mut Spoil<'c>,
    report: &'c mut dyn FnMut(Outcome),
}

impl Checks<'_> {
    /// Makes one check in all of the memory and reports it.
    fn check(
        &mut self,
        name: &'static str,
        limit: f64,
        compare: impl FnOnce(&mut Arena<'_>, &mut Worst<'_>) -> Result<(), OutOfMemory>,
    ) -> Result<(), OutOfMemory> {
        let mut worst = Worst {
            outcome: Outcome::new(name, limit),
            magnitude: 0.0,
            spoil: self.spoil,
        };
        compare(&mut Arena::new(self.memory), &mut worst)?;
        worst.outcome.error /= worst.magnitude;
        (self.report)(worst.outcome);
        Ok(())
    }
}

/// The largest error of results against exact ones, taken in piece by piece.
struct Worst<'c> {
    outcome: Outcome,
    /// The largest of an exact result.
    magnitude: f64,
    spoil: &'c mut Spoil<'c>,
}

impl Worst<'_> {
    fn spoil(&mut self, got: &mut [F32x4]) {
        (self.spoil)(self.outcome.check, got);
    }

    fn value(&mut self, got: f32, exact: f64) {
        let error = (f64::from(got) - exact).abs();
        self.outcome.values += 1;
        // A NaN stays: nothing is greater than it.
        if error > self.outcome.error || error.is_nan() {
            self.outcome.error = error;
        }
        self.magnitude = self.magnitude.max(exact.abs());
    }

    /// Spoils a whole result, and compares it.
    fn lanes(&mut self, got: &mut [F32x4], exact: impl Iterator<Item = f64>) {
        self.spoil(got);
        for (&got, exact) in flat(got).iter().zip(exact) {
            self.value(got, exact);
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

    fn is_right(outcome: &Outcome) -> bool {
        outcome.error <= outcome.limit && outcome.values > 0
    }

    fn all(spoil: &mut Spoil<'_>) -> Vec<Outcome> {
        let mut memory = vec![Line::ZERO; BYTES / Line::BYTES];
        let mut seen = Vec::new();
        run(&mut memory, spoil, &mut |outcome| seen.push(outcome)).unwrap();
        seen
    }

    #[test]
    fn every_kernel_is_right() {
        let seen = all(&mut |_, _| {});
        for outcome in &seen {
            assert!(is_right(outcome), "{outcome:?}");
        }
        let checks: BTreeSet<_> = seen.iter().map(|outcome| outcome.check).collect();
        assert_eq!(
            checks.len(),
            seen.len(),
            "every check has a name of its own"
        );
        assert!(seen.len() >= 35, "{checks:?}");
    }

    #[test]
    fn one_planted_error_in_any_kernel_fails_it() {
        let checks: Vec<_> = all(&mut |_, _| {})
            .iter()
            .map(|outcome| outcome.check)
            .collect();
        let mut planted = 0;
        // Each check spoils its own result only, so that one run can plant an error in every one.
        for outcome in all(&mut |_, result| {
            let largest = flat(result).iter().fold(0.0f32, |a, b| a.max(b.abs()));
            result[result.len() / 2].0[1] += largest * 1e-2;
        }) {
            assert!(!is_right(&outcome), "{outcome:?}");
            planted += 1;
        }
        assert_eq!(planted, checks.len());
    }

    #[test]
    fn a_result_that_is_nan_fails() {
        for outcome in all(&mut |_, result| result[0].0[0] = f32::NAN) {
            assert!(!is_right(&outcome), "{outcome:?}");
        }
    }
}
