//! RMSNorm into a core's activations.

use ops::Matrix;
use ops::dispatch::rms_norm;
use ops::lanes::F32x4;
use parallel::{Core, Shared};

use crate::run_state::Scratch;

/// The norms of an attention's heads: one for all queries and one for all keys, of head_dim values each.
pub struct QkNorm<'w> {
    /// The queries' weights.
    pub q: &'w [F32x4],
    /// The keys' weights.
    pub k: &'w [F32x4],
    /// ε of both.
    pub eps: f32,
}

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
