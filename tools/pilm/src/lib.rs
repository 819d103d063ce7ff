//! The library behind the `pilm` program.

#![forbid(unsafe_code)]

pub mod convert;
pub mod decoder;
pub mod dequantize;
pub mod editable;
pub mod file_source;
pub mod gguf_writer;
pub mod metrics;
pub mod npy;
pub mod parity;
pub mod perplexity;
pub mod quantize;
pub mod reference;
pub mod requantize;
pub mod safetensors;
pub mod session;
pub mod synth;
pub mod threads;
