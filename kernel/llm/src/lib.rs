//! GGUF, tokenizer, decoder and sampler.

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod config;
pub mod gguf;
pub mod sampler;
pub mod source;
pub mod tokenizer;
