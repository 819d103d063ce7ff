//! Tensor arithmetic: the scalar definition and its NEON twins.

#![cfg_attr(target_os = "none", no_std)]
