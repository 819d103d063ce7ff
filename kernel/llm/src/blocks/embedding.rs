//! From token ids to the residual stream.

use ops::Matrix;
use parallel::{Core, Shared};

use ops::lanes::F32x4;

use crate::tokenizer::TokenId;

/// `x_t = E[tokens_t]`: every core writes its own dimensions.
pub fn embed(core: &Core<'_>, token_embd: &Matrix<'_>, tokens: &[TokenId], x: &Shared<'_, F32x4>) {
    let n = tokens.len();
    let (groups, out) = core.part(x, F32x4::count(token_embd.cols()), n, 0);
    for (group, out) in groups.zip(out.chunks_exact_mut(n)) {
        for (token, out) in tokens.iter().zip(out) {
            token_embd.read_row(token.0 as usize, 4 * group, core::slice::from_mut(out));
        }
    }
}
