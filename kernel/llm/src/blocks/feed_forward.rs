//! The gated feed-forward layer (Shazeer 2020, arXiv:2002.05202).

use ops::Matrix;
use ops::dispatch::swiglu;
use ops::lanes::F32x4;
use parallel::{Core, Shared};

use crate::run_state::Scratch;

/// `hb = SiLU(W_gate · y) ⊙ (W_up · y)`, every core its own rows; `hb2` is room for the second.
pub fn gate(
    core: &Core<'_>,
    w_gate: &Matrix<'_>,
    w_up: &Matrix<'_>,
    own: &mut Scratch<'_>,
    hb: &Shared<'_, F32x4>,
    hb2: &Shared<'_, F32x4>,
) {
    let n = own.n_tokens();
    let (groups, gate) = core.part(hb, w_gate.groups(), n, 0);
    let (_, up) = core.part(hb2, w_up.groups(), n, 0);
    own.mul(w_gate, groups.clone(), gate);
    own.mul(w_up, groups, up);
    swiglu(gate, up);
}

/// A panel of `n` tokens as activations for `w`.
pub fn take_panel(
    core: &Core<'_>,
    own: &mut Scratch<'_>,
    panel: &Shared<'_, F32x4>,
    n: usize,
    w: &Matrix<'_>,
) {
    let panel = &core.read(panel)[..F32x4::count(w.cols()) * n];
    own.begin(n);
    for t in 0..n {
        own.gather(panel, n, t);
        own.put(t, &[w]);
    }
}
