//! The NEON twins: the scalar definition's bits on a Cortex-A72, eight to sixteen at a time.
//!
//! The A72 has no SDOT and no f16 arithmetic. An int8 product is SMULL and SMLAL2 into
//! int16 (two products of at most 128 · 127 fit), then SADALP into int32: 8 multiplications a
//! cycle. f16 values are widened by FCVTL. Every fused multiply-add here is one in the definition.

#![allow(clippy::wildcard_imports, reason = "the instruction set")]

pub mod attention;
pub mod copy;
#[cfg(target_feature = "crc")]
pub mod crc32c;
pub mod elementwise;
pub mod exp;
mod load;
pub mod matmul;
pub mod norm;
pub mod quantize;
pub mod rope;
