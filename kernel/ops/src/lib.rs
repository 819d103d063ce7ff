//! Tensor arithmetic: the scalar definition and its NEON twins.
//!
//! Nothing here allocates, names an address or knows a file. Every kernel exists as a scalar
//! definition; what runs faster gives the same bits.
//!
//! * [`GgmlType`]: the element formats of GGUF tensors
//! * [`packed`]: rows in groups of four, one layout a format
//! * [`matrix`]: a weight matrix of any format, packed; [`Matrix`]
//! * [`activations`]: a layer's input, laid out for the matrix kernels
//! * [`kv_format`]: keys and values as they are stored
//! * [`scalar`]: the definition of every operation
//! * `neon`: its twins for AArch64
//! * [`dispatch`]: the choice between the two
//! * [`lanes`], [`arena`]: memory in 16-byte lanes, and typed slices out of one run of it
//! * [`float`]: float operations that `core` lacks, f16
//! * [`crc32c`]: checksums of logits and files
//! * [`bandwidth`]: plain passes over memory, to measure it
//! * [`selftest`]: kernels against their definition, on seeded data
//!
//! ```
//! use ops::crc32c::Crc32c;
//!
//! let mut crc = Crc32c::new();
//! crc.update(b"12345");
//! crc.update(b"6789");
//! assert_eq!(crc.value(), 0xE306_9283);
//! ```

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
pub mod scalar;
pub mod selftest;

pub use ggml_type::GgmlType;
pub use matrix::Matrix;
