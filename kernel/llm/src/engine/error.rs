//! Why a token does not run.

use core::fmt;

use crate::tokenizer::TokenId;

/// A token that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the sentences say what the fields hold")]
pub enum EngineError {
    /// No ids were given.
    Nothing,
    /// More tokens than positions left.
    ContextFull {
        context_len: usize,
        pos: usize,
        wanted: usize,
    },
    /// An id outside of the vocabulary.
    BadToken { id: TokenId, vocab_size: usize },
    /// The caller's `stop` said so.
    Stopped,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Nothing => write!(f, "there are no tokens to run"),
            EngineError::ContextFull {
                context_len,
                pos,
                wanted,
            } => write!(
                f,
                "the context is full: {pos} of {context_len} positions are taken and {wanted} more are needed; start anew or shorten"
            ),
            EngineError::BadToken { id, vocab_size } => {
                write!(
                    f,
                    "token {} is not among the vocabulary's {vocab_size}",
                    id.0
                )
            }
            EngineError::Stopped => write!(f, "stopped"),
        }
    }
}

impl core::error::Error for EngineError {}
