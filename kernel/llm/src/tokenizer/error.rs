//! What can be wrong with a tokenizer in a file.

use alloc::string::String;

use super::pretokenize;
use crate::gguf;
use crate::one_line::OneLine;

/// A tokenizer that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the sentences say what the fields hold")]
pub enum Error {
    /// The file lacks a key or has it with another type.
    #[error(transparent)]
    Gguf(#[from] gguf::Error),
    /// `tokenizer.ggml.model` names another kind.
    #[error(
        "tokenizer \"{}\" is not supported; use a model with one of: gpt2, llama",
        OneLine(.name)
    )]
    UnsupportedModel { name: String },
    /// `tokenizer.ggml.pre` names another way of splitting.
    #[error(
        "pre-tokenizer \"{}\" is not supported; use a model with one of: {}",
        OneLine(.name), pretokenize::SUPPORTED
    )]
    UnsupportedPreTokenizer { name: String },
    /// An array that should have one element per token.
    #[error("{key} has {found} elements for {expected} tokens; convert the model again")]
    WrongLength {
        key: &'static str,
        expected: usize,
        found: usize,
    },
    /// An array of something else than it should hold.
    #[error("{key} is an array of {found}; convert the model again")]
    WrongElements {
        key: &'static str,
        found: &'static str,
    },
    /// A role's id that lies outside the vocabulary.
    #[error("{key} is {id} in a vocabulary of {vocab_size}; convert the model again")]
    IdOutOfRange {
        key: &'static str,
        id: u32,
        vocab_size: usize,
    },
    /// A token kind that the format does not define.
    #[error("token {token} is of the unknown kind {id}; convert the model again")]
    UnknownKind { token: usize, id: i64 },
    /// No token at all.
    #[error("tokenizer.ggml.tokens is empty; convert the model again")]
    EmptyVocabulary,
    /// No memory for the tables.
    #[error("no memory for {bytes} bytes of tokenizer; use a model with a smaller vocabulary")]
    OutOfMemory { bytes: usize },
}
