//! Why a token does not run.

use crate::tokenizer::TokenId;

/// A token that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the sentences say what the fields hold")]
pub enum EngineError {
    /// No ids were given.
    #[error("there are no tokens to run")]
    Nothing,
    /// More tokens than positions left.
    #[error(
        "the context is full: {pos} of {context_len} positions are taken and {wanted} more are needed; \
         start anew or shorten"
    )]
    ContextFull {
        context_len: usize,
        pos: usize,
        wanted: usize,
    },
    /// An id outside of the vocabulary.
    #[error("token {} is not among the vocabulary's {vocab_size}", .id.0)]
    BadToken { id: TokenId, vocab_size: usize },
}
