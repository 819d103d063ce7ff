//! Tensor arithmetic: the scalar definition and its NEON twins.
//!
//! Nothing here allocates, names an address or knows a file. Every kernel exists as a scalar
//! definition; what runs faster gives the same bits.

#![cfg_attr(target_os = "none", no_std)]
#![allow(
    clippy::needless_range_loop,
    reason = "kernels walk several arrays by one index"
)]

pub mod activations;
pub mod arena;
pub mod bandwidth;
pub mod crc32c;
pub mod dispatch;
pub mod float;
mod formats;
mod ggml_type;
pub mod kv_format;
pub mod lanes;
pub mod matrix;
#[cfg(target_arch = "aarch64")]
mod neon;
pub mod packed;
pub mod parallel;
pub mod scalar;
pub mod selftest;

pub use ggml_type::GgmlType;
pub use matrix::Matrix;
