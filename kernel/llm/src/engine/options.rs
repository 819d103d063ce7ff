//! What can be chosen when a model is loaded.

use crate::kv_cache::KvType;
use crate::lookup::Lookup;

/// Choices; the default suits a conversation.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Most positions; without it the model's own, at most 4096 and what half of the memory left
    /// after the weights holds.
    pub context_len: Option<usize>,
    /// How keys and values are stored; without it floats for F32 weights and halves for others.
    pub kv_type: Option<KvType>,
    /// Most tokens that a prefill takes at once.
    pub batch: usize,
    /// Positions that can have logits at once: a token and the guess that is checked with it, or the
    /// batch for perplexity. Each takes 4 bytes per id of the vocabulary: 8 of them 1.6 MB for 49 152
    /// ids, 4.9 MB for 151 936.
    pub n_logits: usize,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            context_len: None,
            kv_type: None,
            batch: 32,
            n_logits: 1 + Lookup::MAX_GUESS,
        }
    }
}
