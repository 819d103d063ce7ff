//! From the residual stream to logits.

use ops::Matrix;
use ops::dispatch::rms_norm;
use ops::lanes::F32x4;
use parallel::Core;

use super::norm::norm;
use super::project::project;
use crate::batch::{Batch, Logits};
use crate::run_state::Scratch;

/// `logits = W_out · RMSNorm(x)` for the tokens that the batch wants them of.
pub fn logits(
    core: &Core<'_>,
    batch: &Batch<'_>,
    own: &mut Scratch<'_>,
    weight: &[F32x4],
    eps: f32,
    output: &Matrix<'_>,
) {
    let (s, n) = (batch.state, batch.tokens.len());
    match batch.logits {
        Logits::None => return,
        Logits::All => norm(core, own, &s.x, n, weight, eps, &[output]),
        Logits::Last => {
            own.begin(1);
            rms_norm(core.read(&s.x), n, n - 1, weight, eps, &mut own.vector);
            own.put(0, &[output]);
        }
    }
    project(core, &[output], own, &s.logits);
}
