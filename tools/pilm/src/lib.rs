//! The library behind the `pilm` program.

#![forbid(unsafe_code)]

pub mod dequantize;
pub mod file_source;
pub mod gguf_writer;
pub mod quantize;
pub mod reference;
pub mod requantize;
pub mod synth;
