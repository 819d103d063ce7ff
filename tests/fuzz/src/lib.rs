//! What the fuzz targets check, callable without a fuzzer.
//!
//! Each module has a `check` that takes any bytes and panics when a promise is broken.
//! `tests/replay.rs` calls it with every file of `corpus/`.

pub mod answers;
pub mod card;
pub mod card_seeds;
pub mod editor;
pub mod gguf;
pub mod request;
pub mod seeds;
pub mod template;
pub mod tokenizer;
pub mod tree;

#[path = "../../../kernel/llm/tests/support/mod.rs"]
#[allow(missing_docs, unreachable_pub, reason = "shared with the tests of llm")]
mod support;
