//! The definition of the arithmetic, in plain Rust.
//!
//! Every order of operations written here is the contract that NEON twins keep to the bit. A
//! fused multiply-add is where [`fma`](crate::float::fma) is written and nowhere else. The
//! functions are always inlined, because the x86 host compiles them a second time for AVX2.

pub mod attention;
pub mod elementwise;
pub mod exp;
pub mod matmul;
pub mod norm;
pub mod quantize;
pub mod rope;

/// The halving tree: lane `i` takes in lane `i + 8`, then `i + 4`, `i + 2`, `i + 1`.
#[inline(always)] // Must take on the caller's target features.
pub fn sum_lanes(mut lanes: [f32; 16]) -> f32 {
    let mut half = 8;
    while half > 0 {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}
