//! The library behind the `pilm` program.
//!
//! * [`session`], [`threads`]: the firmware's engine with a model in the host's memory, and its cores
//! * [`board`]: the firmware's console without hardware
//! * [`file_source`], [`editable`]: models from files; small ones in memory that can be changed
//! * [`gguf_writer`]: GGUF files, written in one pass
//! * [`quantize`], [`dequantize`]: f32 to weight types and back
//! * [`requantize`]: a GGUF file in other weight types
//! * [`architecture`]: the decoders as model files have them
//! * [`convert`], [`safetensors`]: a Hugging Face directory as a GGUF file
//! * [`synth`]: seeded models for tests
//! * [`decoder`]: what comparisons need of a model
//! * [`parity`], [`metrics`], [`npy`]: comparison with the stored results of another implementation
//! * [`perplexity`]: perplexity on a text, distance from a base run
//! * [`compare`]: two logs of the laboratory, cell by cell
//! * [`predict`]: predictions of a board's speed, from published figures
//!
//! ```
//! use ops::GgmlType;
//! use pilm::{dequantize::dequantize, quantize::quantize};
//!
//! let weights: Vec<f32> = (-16..16).map(|i| i as f32 / 16.0).collect();
//! let mut block = Vec::new();
//! assert!(quantize(GgmlType::Q8_0, &weights, &mut block));
//! assert_eq!(block.len(), 34);
//! let back = dequantize(GgmlType::Q8_0, &block).expect("a type with a decoder");
//! // Half a step of the block's scale, and the scale's own rounding.
//! assert!(back.iter().zip(&weights).all(|(b, w)| (b - w).abs() < 1.0 / 250.0));
//! ```

#![forbid(unsafe_code)]

pub mod architecture;
pub mod board;
pub mod compare;
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
pub mod predict;
pub mod quantize;
pub mod requantize;
pub mod safetensors;
pub mod session;
pub mod synth;
pub mod threads;
