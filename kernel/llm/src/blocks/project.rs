//! Products of weight matrices with a core's activations, split by rows.

use core::ops::Range;

use ops::Matrix;
use ops::dispatch::add_assign;
use ops::lanes::F32x4;
use parallel::{Core, Shared};

use crate::run_state::Scratch;

/// `out = [W_0; W_1; …] · x`: the matrices stacked, so that their rows are shared out as one.
/// Returns the calling core's rows, in groups of the stack, and its part of `out`.
pub fn project<'c>(
    core: &'c Core<'_>,
    stack: &[&Matrix<'_>],
    own: &mut Scratch<'_>,
    out: &'c Shared<'_, F32x4>,
) -> (Range<usize>, &'c mut [F32x4]) {
    let n = own.n_tokens();
    let total = stack.iter().map(|w| w.groups()).sum();
    let (groups, out) = core.part(out, total, n, 0);
    let (mut first, mut done) = (0, 0);
    for w in stack {
        let mine = overlap(&groups, first, w.groups());
        let len = mine.len() * n;
        own.mul(w, mine, &mut out[done..done + len]);
        done += len;
        first += w.groups();
    }
    (groups, out)
}

/// `x += W · y`, with `room` for the product.
pub fn project_onto(
    core: &Core<'_>,
    w: &Matrix<'_>,
    own: &mut Scratch<'_>,
    room: &Shared<'_, F32x4>,
    x: &Shared<'_, F32x4>,
) {
    let n = own.n_tokens();
    let (groups, product) = core.part(room, w.groups(), n, 0);
    own.mul(w, groups, product);
    let (_, x) = core.part(x, w.groups(), n, 0);
    add_assign(x, product);
}

/// [`project`], and then `out_i += bias_i` for the stacked biases.
pub fn project_biased(
    core: &Core<'_>,
    stack: &[&Matrix<'_>],
    biases: &[&[F32x4]],
    own: &mut Scratch<'_>,
    out: &Shared<'_, F32x4>,
) {
    let n = own.n_tokens();
    let (groups, out) = project(core, stack, own, out);
    let bias = biases.iter().flat_map(|b| b.iter()).skip(groups.start);
    for (out, bias) in out.chunks_exact_mut(n).zip(bias) {
        for out in out {
            add_assign(core::slice::from_mut(out), core::slice::from_ref(bias));
        }
    }
}

/// The part of `groups`, numbers in the stack, that falls on a matrix of `len` groups from `first`
/// on, as numbers within the matrix.
fn overlap(groups: &Range<usize>, first: usize, len: usize) -> Range<usize> {
    let start = groups.start.clamp(first, first + len);
    let end = groups.end.clamp(first, first + len);
    start - first..end - first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_cut_a_stack_into_its_matrices() {
        assert_eq!(overlap(&(3..9), 0, 5), 3..5);
        assert_eq!(overlap(&(3..9), 5, 2), 0..2);
        assert_eq!(overlap(&(3..9), 7, 5), 0..2);
        assert_eq!(overlap(&(3..9), 12, 5), 0..0);
    }
}
