//! Decoders, one page each.

pub mod llama;
pub mod qwen2;

use ops::Matrix;
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

impl<'a> Model<'a> {
    /// Shows every matrix, with its tensor's name without the layer.
    pub fn for_each_matrix<'m>(&'m self, see: &mut dyn FnMut(&'static str, &'m Matrix<'a>)) {
        match self {
            Model::Llama(model) => model.for_each_matrix(see),
            Model::Qwen2(model) => model.for_each_matrix(see),
        }
    }

    /// Runs a batch. To be called by every core of a region.
    pub fn forward(&self, core: &mut Core<'_>, step: &Step<'_>) {
        match self {
            Model::Llama(model) => model.forward(core, step),
            Model::Qwen2(model) => model.forward(core, step),
        }
    }
}

/// Shows the matrix that gives the logits.
fn see_head<'m, 'a>(
    token_embd: &'m Matrix<'a>,
    output: Option<&'m Matrix<'a>>,
    see: &mut dyn FnMut(&'static str, &'m Matrix<'a>),
) {
    match output {
        Some(output) => see("output", output),
        None => see("token_embd", token_embd),
    }
}
