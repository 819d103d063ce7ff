//! GGUF, tokenizer, decoder and sampler: a file's bytes to the next token.
//!
//! * [`source`], [`checked`]: where a file's bytes come from, and their checksum
//! * [`gguf`], [`config`]: a file's header, and the model's shapes in it
//! * [`weights`]: tensors from the file into the arena
//! * [`tokenizer`], [`chat`]: text to token ids and back; a conversation as a prompt
//! * [`models`], [`blocks`]: architectures, and the parts that they are made of
//! * [`batch`], [`run_state`], [`kv_cache`], [`attention_shape`]: what a token passes through, and what stays of it
//! * [`engine`]: a loaded model and the tokens in it; [`lookup`] drafts what may come next
//! * [`sampler`], [`perplexity`]: logits to a token; logits to a measure
//! * [`repetition`]: whether an answer repeats itself
//!
//! ```
//! use llm::sampler::{Sampler, Settings};
//! use llm::tokenizer::TokenId;
//!
//! let mut greedy = Sampler::new(4, Settings::GREEDY);
//! assert_eq!(greedy.sample(&[0.5, -1.0, 2.0, 1.0]), Some(TokenId(2)));
//! ```

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
pub mod repetition;
pub mod run_state;
pub mod sampler;
pub mod source;
pub mod tokenizer;
pub mod weights;
