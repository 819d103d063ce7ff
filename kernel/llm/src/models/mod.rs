//! Decoders, one page each.

pub mod llama;
pub mod qwen2;

use ops::parallel::Core;

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

/// One batch on its way through a decoder.
pub struct Step<'s> {
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

impl Step<'_> {
    /// Rotates layer `l`'s attention items over the cores, so that few items load all of them.
    pub fn turn(&self, l: usize) -> usize {
        self.pos + l
    }
}

/// A decoder of any architecture.
pub enum Model<'a> {
    /// See [`llama`].
    Llama(llama::Llama<'a>),
    /// See [`qwen2`].
    Qwen2(qwen2::Qwen2<'a>),
}

impl Model<'_> {
    /// Runs a batch. To be called by every core of a region.
    pub fn forward(&self, core: &mut Core<'_>, step: &Step<'_>) {
        match self {
            Model::Llama(model) => model.forward(core, step),
            Model::Qwen2(model) => model.forward(core, step),
        }
    }
}
