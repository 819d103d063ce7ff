//! A batch of tokens on its way through a decoder.

use crate::kv_cache::KvCache;
use crate::run_state::RunState;
use crate::tokenizer::TokenId;

/// For which tokens of a batch logits are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logits {
    /// For none: only the cache is filled.
    None,
    /// For the last.
    Last,
    /// For all.
    All,
}

/// Tokens, and the memory that they pass through.
pub struct Batch<'s> {
    /// The tokens.
    pub tokens: &'s [TokenId],
    /// Position of the first.
    pub pos: usize,
    /// Which logits are wanted.
    pub logits: Logits,
    /// Buffers.
    pub state: &'s RunState<'s>,
    /// Keys and values.
    pub kv: &'s KvCache<'s>,
}
