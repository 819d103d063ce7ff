//! Whether the kernels of this machine give the definition's bits, on seeded data and on edges, and how
//! far they are from the truth ([`accuracy`]).
//!
//! The host's tests, the on-target test image and the firmware's `/selftest` all run this.

pub mod accuracy;
mod attention;
mod inputs;
mod matmul;
mod random;
mod vectors;

use crate::arena::{Arena, OutOfMemory};
use crate::kv_format::{KvF16, KvF32, KvI8};
use crate::lanes::{F32x4, flat};
use random::Random;

/// Memory that [`run`] needs.
pub const ARENA_BYTES: u64 = 8 << 20;

/// What one check came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// What was computed.
    pub check: &'static str,
    /// Values compared.
    pub values: u64,
    /// Against the definition, values whose bits differ (two NaNs count as equal); against f64, the largest
    /// error, not finite if a value was not.
    pub error: f64,
    /// The largest error that is right.
    pub limit: f64,
}

impl Outcome {
    /// Nothing is compared yet.
    fn new(check: &'static str, limit: f64) -> Self {
        Outcome {
            check,
            values: 0,
            error: 0.0,
            limit,
        }
    }

    /// Compares the bits.
    fn floats(&mut self, ours: &[F32x4], theirs: &[F32x4]) {
        for (a, b) in flat(ours).iter().zip(flat(theirs)) {
            self.value(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()));
        }
    }

    fn value(&mut self, equal: bool) {
        self.values += 1;
        self.error += f64::from(!equal);
    }
}

/// What the cases of one kernel have in common.
struct Cases<'c, 'a> {
    arena: &'c mut Arena<'a>,
    random: Random,
    outcome: Outcome,
}

/// Compares a kernel with its definition.
type Compare = fn(&mut Cases<'_, '_>) -> Result<(), OutOfMemory>;

/// Kernels, each with its seed and the cases that it is compared in with its definition.
const KERNELS: &[(&str, u64, Compare)] = &[
    ("rms_norm", 1, vectors::rms_norm),
    ("quantize", 2, vectors::quantize),
    ("rope", 3, vectors::rope),
    ("swiglu", 4, vectors::swiglu),
    ("add_assign", 5, vectors::add_assign),
    ("attention, f16 cache", 6, attention::attend::<KvF16>),
    ("attention, f32 cache", 6, attention::attend::<KvF32>),
    ("attention, int8 cache", 6, attention::attend::<KvI8>),
    ("merge", 7, attention::merge),
];

/// Compares every kernel with its definition and reports each.
///
/// # Errors
/// [`OutOfMemory`] when `arena` has less than [`ARENA_BYTES`].
pub fn run(mut arena: Arena<'_>, report: &mut dyn FnMut(Outcome)) -> Result<(), OutOfMemory> {
    matmul::run(&mut arena, report)?;
    for &(name, seed, compare) in KERNELS {
        let mut cases = Cases {
            arena: &mut arena,
            random: Random::new(seed),
            outcome: Outcome::new(name, 0.0),
        };
        compare(&mut cases)?;
        report(cases.outcome);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Line;

    #[test]
    fn every_kernel_gives_the_definitions_bits() {
        let mut lines = vec![Line::ZERO; (ARENA_BYTES / 64) as usize];
        let mut kernels = 0;
        run(Arena::new(&mut lines), &mut |outcome| {
            assert_eq!(outcome.error, 0.0, "{outcome:?}");
            assert!(outcome.values > 0, "{outcome:?}");
            kernels += 1;
        })
        .unwrap();
        assert!(kernels >= 30);
    }

    #[test]
    fn values_that_differ_are_counted() {
        let mut outcome = Outcome::new("x", 0.0);
        let values = [F32x4([1.0, 0.0, f32::NAN, 2.0])];
        outcome.floats(&values, &values);
        assert_eq!((outcome.values, outcome.error), (4, 0.0));
        outcome.floats(&values, &[F32x4([1.0, -0.0, f32::NAN, f32::NAN])]);
        assert_eq!((outcome.values, outcome.error), (8, 2.0));
    }
}
