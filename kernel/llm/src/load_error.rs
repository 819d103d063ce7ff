//! Why a model does not load.

use alloc::string::String;

use ops::arena::OutOfMemory;
use ops::{GgmlType, Matrix};

use crate::one_line::OneLine;
use crate::{config, gguf, tokenizer};

/// A model that cannot be loaded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the sentences say what the fields hold")]
pub enum LoadError<E> {
    /// The card or file failed.
    #[error(transparent)]
    Source(E),
    /// The file is no sound GGUF.
    #[error(transparent)]
    Gguf(#[from] gguf::Error),
    /// The configuration is missing, damaged or unsupported.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The tokenizer is missing, damaged or unsupported.
    #[error(transparent)]
    Tokenizer(#[from] tokenizer::Error),
    /// A tensor that the architecture needs.
    #[error("tensor {tensor} is missing; convert the model again")]
    MissingTensor { tensor: String },
    /// A tensor that the architecture does not have: the model computes something else.
    #[error(
        "tensor {} has no place in this architecture; the model is a variant that is not \
         supported",
        OneLine(.tensor)
    )]
    UnknownTensor { tensor: String },
    /// Rows and columns that do not fit the configuration.
    #[error(
        "tensor {tensor} has {} rows of {} where the configuration needs {} of {}; convert the \
         model again",
        .found[0], .found[1], .expected[0], .expected[1]
    )]
    ShapeMismatch {
        tensor: String,
        expected: [u64; 2],
        found: [u64; 2],
    },
    /// A type without kernels.
    #[error(
        "tensor {tensor} has type {ggml_type}, which is not supported; quantise the model to \
         one of {}",
        Matrix::SUPPORTED
    )]
    UnsupportedType { tensor: String, ggml_type: GgmlType },
    /// A size that is no multiple of what the kernels need.
    #[error("the model's {what} is {value}, which is no multiple of {multiple}; use another model")]
    UnsupportedShape {
        what: &'static str,
        value: usize,
        multiple: usize,
    },
    /// A block's scale that is infinite or NaN.
    #[error(
        "tensor {tensor}, row {row}: a scale is infinite or NaN; the file is damaged, \
         copy it again"
    )]
    BadScale { tensor: String, row: usize },
    /// A value that is infinite or NaN.
    #[error(
        "tensor {tensor} has a value that is infinite or NaN; the file is damaged, copy \
         it again"
    )]
    NotFinite { tensor: String },
    /// The model and its cache do not fit.
    #[error("{0}: use a smaller model, a stronger quantisation or a shorter context")]
    OutOfMemory(OutOfMemory),
}

impl<E> LoadError<E> {
    /// Whether a tensor's data stopped the load: the file was badly made, or is damaged, which its checksum tells.
    pub fn is_in_data(&self) -> bool {
        matches!(self, Self::BadScale { .. } | Self::NotFinite { .. })
    }
}

impl<E> From<OutOfMemory> for LoadError<E> {
    fn from(error: OutOfMemory) -> Self {
        LoadError::OutOfMemory(error)
    }
}
