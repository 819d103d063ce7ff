//! What can be chosen when a model is loaded.

use crate::kv_cache::KvType;
use crate::lookup::Lookup;
use crate::weights::Timer;

/// Choices; the default suits a conversation.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Most positions; without it the model's own, at most 4096 and what half of the memory left
    /// after the weights holds.
    pub context_len: Option<usize>,
    /// How keys and values are stored; without it f32 for F32 weights and f16 for others.
    pub kv_type: Option<KvType>,
    /// Most tokens that a prefill takes at once.
    pub batch: usize,
    /// Positions that can have logits at once: a token and the draft that is checked with it, or the
    /// batch for perplexity. Each takes 4 bytes per id of the vocabulary: 8 of them 1.6 MB for 49 152
    /// ids, 4.9 MB for 151 936.
    pub n_logits: usize,
    /// Most cores that the model will run on; without it as many as load it.
    pub n_cores: Option<usize>,
    /// Bytes asked of the source at once. Each is packed while the next ones come in: few make the
    /// source slow, and of many the first are waited for.
    pub chunk_bytes: usize,
    /// Times the parts of the load, on any core.
    pub timer: Timer,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            context_len: None,
            kv_type: None,
            batch: 32,
            n_logits: 1 + Lookup::MAX_DRAFT,
            n_cores: None,
            chunk_bytes: 2 << 20,
            timer: || 0,
        }
    }
}
