//! GGUF, tokenizer, decoder and sampler.

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod attention_shape;
pub mod batch;
pub mod blocks;
pub mod chat;
pub mod checked;
pub mod config;
pub mod engine;
pub mod gguf;
pub mod kv_cache;
mod load_error;
pub mod lookup;
pub mod model_file;
pub mod models;
mod one_line;
pub mod perplexity;
pub mod run_state;
pub mod sampler;
pub mod source;
pub mod tokenizer;
pub mod weights;
