//! What a session needs of a loaded model.

use alloc::vec::Vec;
use llm::chat::ChatTemplate;
use llm::engine::{Engine, EngineError};
use llm::lookup::Lookup;
use llm::run_state::CoreCounts;
use llm::tokenizer::{TokenId, Tokenizer};
use ops::Matrix;
use ops::matrix::Kernels;
use parallel::Cores;

/// A decoder with its tokenizer: an [`Engine`], or in tests one that follows a script.
pub trait Model {
    /// Its tokenizer.
    fn tokenizer(&self) -> &Tokenizer;
    /// Its chat template.
    fn template(&self) -> &ChatTemplate;
    /// Tokens that the context takes.
    fn context_len(&self) -> usize;
    /// Tokens whose keys and values are held.
    fn pos(&self) -> usize;
    /// Keeps of them what `ids` starts with, but leaves the last of `ids` to run; how many are kept.
    fn reuse(&mut self, ids: &[TokenId]) -> usize;
    /// Forgets all of them.
    fn clear(&mut self);
    /// Works in `ids`; the logits (vocab_size,) of the last one.
    ///
    /// # Errors
    /// [`EngineError`]; [`EngineError::Stopped`] when `stop` said so.
    fn prefill(
        &mut self,
        ids: &[TokenId],
        cores: &dyn Cores,
        stop: &dyn Fn() -> bool,
    ) -> Result<&[f32], EngineError>;
    /// Chooses what multiplies; what is held is forgotten when it would have other bits.
    fn set_kernels(&mut self, kernels: Kernels);
    /// The largest matrix of each weight type, and its tensor's name.
    fn largest_matrices(&self) -> Vec<(&'static str, &Matrix<'_>)>;
    /// What core `core` has done since [`Self::clear_counts`].
    fn counts(&mut self, core: usize) -> CoreCounts;
    /// Starts counting anew.
    fn clear_counts(&mut self);
    /// Works in one token; its logits (vocab_size,).
    ///
    /// # Errors
    /// [`EngineError`].
    fn decode(&mut self, id: TokenId, cores: &dyn Cores) -> Result<&[f32], EngineError>;
    /// The same, perhaps without a pass: see [`Engine::decode_guessing`].
    ///
    /// # Errors
    /// [`EngineError`].
    fn decode_guessing(
        &mut self,
        id: TokenId,
        lookup: &mut Lookup,
        cores: &dyn Cores,
    ) -> Result<&[f32], EngineError>;
    /// Works in `ids` and hands the logits (vocab_size,) after each position to `sink`, ascending.
    ///
    /// # Errors
    /// [`EngineError`].
    fn logits_of_all(
        &mut self,
        ids: &[TokenId],
        cores: &dyn Cores,
        sink: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), EngineError>;
}

impl Model for Engine<'_> {
    fn tokenizer(&self) -> &Tokenizer {
        self.tokenizer()
    }
    fn template(&self) -> &ChatTemplate {
        self.chat()
    }
    fn context_len(&self) -> usize {
        self.context_len()
    }
    fn pos(&self) -> usize {
        self.pos()
    }
    fn reuse(&mut self, ids: &[TokenId]) -> usize {
        self.reuse(ids)
    }
    fn clear(&mut self) {
        self.truncate(0);
    }
    fn set_kernels(&mut self, kernels: Kernels) {
        self.set_kernels(kernels);
    }
    fn largest_matrices(&self) -> Vec<(&'static str, &Matrix<'_>)> {
        self.largest_matrices()
    }
    fn counts(&mut self, core: usize) -> CoreCounts {
        self.counts(core)
    }
    fn clear_counts(&mut self) {
        self.clear_counts();
    }
    fn prefill(
        &mut self,
        ids: &[TokenId],
        cores: &dyn Cores,
        stop: &dyn Fn() -> bool,
    ) -> Result<&[f32], EngineError> {
        self.prefill(ids, cores, stop)
    }
    fn decode(&mut self, id: TokenId, cores: &dyn Cores) -> Result<&[f32], EngineError> {
        self.decode(id, cores)
    }
    fn decode_guessing(
        &mut self,
        id: TokenId,
        lookup: &mut Lookup,
        cores: &dyn Cores,
    ) -> Result<&[f32], EngineError> {
        self.decode_guessing(id, lookup, cores)
    }
    fn logits_of_all(
        &mut self,
        ids: &[TokenId],
        cores: &dyn Cores,
        sink: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), EngineError> {
        self.logits_of_all(ids, cores, sink)
    }
}
