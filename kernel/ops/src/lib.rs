//! Tensor arithmetic: the scalar definition and its NEON twins.

#![cfg_attr(target_os = "none", no_std)]

mod ggml_type;

pub use ggml_type::GgmlType;
