//! Why a model cannot be run.

use alloc::string::String;

use crate::gguf;
use crate::one_line::OneLine;

/// A model that cannot be run, and why.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the sentences say what the fields hold")]
pub enum Error {
    /// The file lacks a key or has it with another type.
    #[error(transparent)]
    Gguf(#[from] gguf::Error),
    /// A number out of every sensible range.
    #[error("{} is {value}, which no model has; convert the model again", OneLine(.key))]
    Unusable { key: String, value: f64 },
    /// An architecture that this crate does not have.
    #[error(
        "architecture \"{}\" is not supported; use a model of one of: {supported}",
        OneLine(.name)
    )]
    UnsupportedArchitecture { name: String, supported: String },
    /// An adapter, a projector or the like.
    #[error("the file holds a \"{}\", not a model; use the model's own GGUF", OneLine(.kind))]
    NotAModel { kind: String },
    /// One file of several.
    #[error("the file is one of {parts} parts; merge them into one GGUF")]
    SplitModel { parts: u32 },
    /// More than one feed-forward layer per block.
    #[error("mixture of experts ({experts} experts) is not supported; use a dense model")]
    MixtureOfExperts { experts: u32 },
    /// Attention that forgets.
    #[error(
        "sliding-window attention (window {window}) is not supported; use a model with full \
         attention"
    )]
    SlidingWindow { window: u32 },
    /// A way of stretching RoPE that this crate does not have.
    #[error(
        "RoPE scaling \"{}\" is not supported; use a model with none, linear or Llama 3 scaling",
        OneLine(.kind)
    )]
    RopeScaling { kind: String },
    /// Query heads that cannot be shared out among the key heads.
    #[error(
        "{n_heads} query heads cannot share {n_kv_heads} key heads evenly; convert the model \
         again"
    )]
    HeadsDoNotDivide { n_heads: usize, n_kv_heads: usize },
    /// No `attention.key_length`, and heads that do not divide the width.
    #[error(
        "width {dim} is not a multiple of {n_heads} heads and attention.key_length is missing; \
         convert the model again"
    )]
    DimNotDivisible { dim: usize, n_heads: usize },
    /// Values or rotations that are narrower or wider than a head.
    #[error(
        "{} is {found} and a head has {head_dim}: partial heads are not supported; use another \
         model",
        OneLine(.key)
    )]
    NotTheHeadWidth {
        key: String,
        found: u32,
        head_dim: usize,
    },
}
