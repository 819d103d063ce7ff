//! Why a model cannot be run.

use alloc::string::String;
use core::fmt::{self, Write};

use crate::gguf;
use crate::one_line::OneLine;

/// A model that cannot be run, and why.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    missing_docs,
    reason = "the variants' sentences say what their fields hold"
)]
pub enum Error {
    /// The file lacks a key or has it with another type.
    Gguf(gguf::Error),
    /// A number out of every sensible range.
    Unusable { key: String, value: f64 },
    /// An architecture that this crate does not have.
    UnsupportedArchitecture { name: String, supported: String },
    /// An adapter, a projector or the like.
    NotAModel { kind: String },
    /// One file of several.
    SplitModel { parts: u32 },
    /// More than one feed-forward layer per block.
    MixtureOfExperts { experts: u32 },
    /// Attention that forgets.
    SlidingWindow { window: u32 },
    /// A way of stretching RoPE that this crate does not have.
    RopeScaling { kind: String },
    /// Query heads that cannot be shared out among the key heads.
    HeadsDoNotDivide { n_heads: usize, n_kv_heads: usize },
    /// No `attention.key_length`, and heads that do not divide the width.
    DimNotDivisible { dim: usize, n_heads: usize },
    /// Values or rotations that are narrower or wider than a head.
    NotTheHeadWidth {
        key: String,
        found: u32,
        head_dim: usize,
    },
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
            Error::Unusable { key, value } => {
                write!(
                    f,
                    "{key} is {value}, which no model has; convert the model again"
                )
            }
            Error::UnsupportedArchitecture { name, supported } => write!(
                f,
                "architecture \"{name}\" is not supported; use a model of one of: {supported}"
            ),
            Error::NotAModel { kind } => {
                write!(
                    f,
                    "the file holds a \"{kind}\", not a model; use the model's own GGUF"
                )
            }
            Error::SplitModel { parts } => {
                write!(
                    f,
                    "the file is one of {parts} parts; merge them into one GGUF"
                )
            }
            Error::MixtureOfExperts { experts } => write!(
                f,
                "mixture of experts ({experts} experts) is not supported; use a dense model"
            ),
            Error::SlidingWindow { window } => write!(
                f,
                "sliding-window attention (window {window}) is not supported; use a model with full attention"
            ),
            Error::RopeScaling { kind } => write!(
                f,
                "RoPE scaling \"{kind}\" is not supported; use a model with none, linear or Llama 3 scaling"
            ),
            Error::HeadsDoNotDivide {
                n_heads,
                n_kv_heads,
            } => write!(
                f,
                "{n_heads} query heads cannot share {n_kv_heads} key heads evenly; convert the model again"
            ),
            Error::DimNotDivisible { dim, n_heads } => write!(
                f,
                "width {dim} is not a multiple of {n_heads} heads and attention.key_length is missing; convert the model again"
            ),
            Error::NotTheHeadWidth {
                key,
                found,
                head_dim,
            } => write!(
                f,
                "{key} is {found} and a head has {head_dim}: partial heads are not supported; use another model"
            ),
        }
    }
}

impl core::error::Error for Error {}
