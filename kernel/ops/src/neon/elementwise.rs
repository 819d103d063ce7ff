//! What is done value by value: see [`crate::scalar::elementwise`].

use core::arch::aarch64::*;

use super::exp::silu;
use super::load::{load, store};
use crate::lanes::F32x4;

/// See [`crate::scalar::elementwise::swiglu`].
#[target_feature(enable = "neon")]
pub fn swiglu(gate: &mut [F32x4], up: &[F32x4]) {
    for (gate, up) in gate.iter_mut().zip(up) {
        let product = vmulq_f32(silu(load(gate, 0)), load(up, 0));
        store(gate, 0, product);
    }
}

/// See [`crate::scalar::elementwise::add_assign`].
#[target_feature(enable = "neon")]
pub fn add_assign(x: &mut [F32x4], y: &[F32x4]) {
    for (x, y) in x.iter_mut().zip(y) {
        let sum = vaddq_f32(load(x, 0), load(y, 0));
        store(x, 0, sum);
    }
}
