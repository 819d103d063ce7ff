//! RMSNorm into a core's activations.

use ops::Matrix;
use ops::dispatch::rms_norm;
use ops::lanes::F32x4;
use parallel::{Core, Shared};

use crate::run_state::Scratch;

/// `RMSNorm(x)` of all `n` tokens as activations for the matrices of `stack`.
pub fn norm(
    core: &Core<'_>,
    own: &mut Scratch<'_>,
    x: &Shared<'_, F32x4>,
    n: usize,
    weight: &[F32x4],
    eps: f32,
    stack: &[&Matrix<'_>],
) {
    let x = core.read(x);
    own.begin(n);
    for t in 0..n {
        rms_norm(x, n, t, weight, eps, &mut own.vector);
        own.put(t, stack);
    }
}
