//! Whether the kernels of this machine give the definition's bits, on seeded data and on edges, and how
//! far they are from the truth ([`accuracy`]).
//!
//! The host's tests, the on-target test image and the firmware's `/selftest` all run this.

pub mod accuracy;
mod attention;
mod matmul;
mod random;
mod vectors;

use crate::arena::{Arena, OutOfMemory};
use crate::lanes::F32x4;

/// Memory that [`run`] needs.
pub const ARENA_BYTES: u64 = 8 << 20;

/// What one kernel's cases came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The kernel.
    pub kernel: &'static str,
    /// Values compared.
    pub values: u64,
    /// Values whose bits differ (two NaNs count as equal).
    pub differing: u64,
}

/// Compares every kernel with its definition and reports each.
///
/// # Errors
/// [`OutOfMemory`] when `arena` has less than [`ARENA_BYTES`].
pub fn run(mut arena: Arena<'_>, report: &mut dyn FnMut(Outcome)) -> Result<(), OutOfMemory> {
    matmul::run(&mut arena, report)?;
    vectors::run(&mut arena, report)?;
    attention::run(&mut arena, report)
}

/// Counts equal and differing values of one kernel.
struct Comparison {
    outcome: Outcome,
}

impl Comparison {
    fn new(kernel: &'static str) -> Self {
        Comparison {
            outcome: Outcome {
                kernel,
                values: 0,
                differing: 0,
            },
        }
    }

    fn floats(&mut self, ours: &[F32x4], theirs: &[F32x4]) {
        for (ours, theirs) in ours.iter().zip(theirs) {
            for (a, b) in ours.0.iter().zip(theirs.0) {
                let equal = a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                self.value(equal);
            }
        }
    }

    fn value(&mut self, equal: bool) {
        self.outcome.values += 1;
        self.outcome.differing += u64::from(!equal);
    }
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
            assert_eq!(outcome.differing, 0, "{outcome:?}");
            assert!(outcome.values > 0, "{outcome:?}");
            kernels += 1;
        })
        .unwrap();
        assert!(kernels >= 30);
    }
}
