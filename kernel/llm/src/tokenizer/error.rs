//! What can be wrong with a tokenizer in a file.

use alloc::string::String;
use core::fmt::{self, Write};

use super::pretokenize;
use crate::gguf;
use crate::one_line::OneLine;

/// A tokenizer that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the variants' sentences say what their fields hold"
)]
pub enum Error {
    /// The file lacks a key or has it with another type.
    Gguf(gguf::Error),
    /// `tokenizer.ggml.model` names another kind.
    UnsupportedModel { name: String },
    /// `tokenizer.ggml.pre` names another way of splitting.
    UnsupportedPreTokenizer { name: String },
    /// An array that should have one element per token.
    WrongLength {
        key: &'static str,
        expected: usize,
        found: usize,
    },
    /// An array of something else than it should hold.
    WrongElements {
        key: &'static str,
        found: &'static str,
    },
    /// A role's id that lies outside the vocabulary.
    IdOutOfRange {
        key: &'static str,
        id: u32,
        vocab_size: usize,
    },
    /// A token kind that the format does not define.
    UnknownKind { token: usize, id: i64 },
    /// No token at all.
    EmptyVocabulary,
    /// No memory for the tables.
    OutOfMemory { bytes: usize },
}

impl From<gguf::Error> for Error {
    fn from(error: gguf::Error) -> Self {
        Error::Gguf(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f = &mut OneLine::new(f);
        match self {
            Error::Gguf(error) => write!(f, "{error}"),
            Error::UnsupportedModel { name } => write!(
                f,
                "tokenizer \"{name}\" is not supported; use a model with one of: gpt2, llama"
            ),
            Error::UnsupportedPreTokenizer { name } => write!(
                f,
                "pre-tokenizer \"{name}\" is not supported; use a model with one of: {}",
                pretokenize::SUPPORTED
            ),
            Error::WrongLength {
                key,
                expected,
                found,
            } => write!(
                f,
                "{key} has {found} elements for {expected} tokens; convert the model again"
            ),
            Error::WrongElements { key, found } => {
                write!(f, "{key} is an array of {found}; convert the model again")
            }
            Error::IdOutOfRange {
                key,
                id,
                vocab_size,
            } => write!(
                f,
                "{key} is {id} in a vocabulary of {vocab_size}; convert the model again"
            ),
            Error::UnknownKind { token, id } => {
                write!(
                    f,
                    "token {token} is of the unknown kind {id}; convert the model again"
                )
            }
            Error::EmptyVocabulary => {
                write!(f, "tokenizer.ggml.tokens is empty; convert the model again")
            }
            Error::OutOfMemory { bytes } => {
                write!(
                    f,
                    "no memory for {bytes} bytes of tokenizer; use a model with a smaller vocabulary"
                )
            }
        }
    }
}

impl core::error::Error for Error {}
