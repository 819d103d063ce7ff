//! What is done value by value.

use super::exp::silu;
use crate::lanes::F32x4;

/// `gate_i = silu(gate_i) · up_i` (Shazeer 2020, arXiv:2002.05202).
#[inline(always)] // Must take on the caller's target features.
pub fn swiglu(gate: &mut [F32x4], up: &[F32x4]) {
    for (gate, up) in gate.iter_mut().zip(up) {
        for i in 0..4 {
            gate.0[i] = silu(gate.0[i]) * up.0[i];
        }
    }
}

/// `x += y`
#[inline(always)] // Must take on the caller's target features.
pub fn add_assign(x: &mut [F32x4], y: &[F32x4]) {
    for (x, y) in x.iter_mut().zip(y) {
        for i in 0..4 {
            x.0[i] += y.0[i];
        }
    }
}

/// Index of the largest value, the first of equals; NaN is smaller than everything.
#[inline(always)] // Must take on the caller's target features.
pub fn argmax(x: &[f32]) -> usize {
    let mut best = f32::NEG_INFINITY;
    for &v in x {
        best = if v > best { v } else { best };
    }
    x.iter().position(|&v| v == best).unwrap_or(0)
}
