//! The library behind the `pilm` program.

#![forbid(unsafe_code)]

pub mod dequantize;
pub mod gguf_writer;
pub mod quantize;
pub mod synth;
