//! Why a model does not load.

use alloc::string::String;
use core::fmt;

use ops::arena::OutOfMemory;
use ops::{GgmlType, Matrix};

use crate::{config, gguf, tokenizer};

/// A model that cannot be loaded.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the sentences say what the fields hold")]
pub enum LoadError<E> {
    /// The card or file failed.
    Source(E),
    /// The file is no sound GGUF.
    Gguf(gguf::Error),
    /// The configuration is missing, damaged or unsupported.
    Config(config::Error),
    /// The tokenizer is missing, damaged or unsupported.
    Tokenizer(tokenizer::Error),
    /// A tensor that the architecture needs.
    MissingTensor { tensor: String },
    /// A tensor that the architecture does not have: the model computes something else.
    UnknownTensor { tensor: String },
    /// Rows and columns that do not fit the configuration.
    ShapeMismatch {
        tensor: String,
        expected: [u64; 2],
        found: [u64; 2],
    },
    /// A type without kernels.
    UnsupportedType { tensor: String, ggml_type: GgmlType },
    /// A size that is no multiple of what the kernels need.
    UnsupportedShape {
        what: &'static str,
        value: usize,
        multiple: usize,
    },
    /// A block's scale that is infinite or no number.
    BadScale { tensor: String, row: usize },
    /// A value that is infinite or no number.
    NotFinite { tensor: String },
    /// The model and its cache do not fit.
    OutOfMemory(OutOfMemory),
}

impl<E> LoadError<E> {
    /// Whether a tensor's data stopped the load: the file was badly made, or is damaged, which its checksum tells.
    pub fn is_in_data(&self) -> bool {
        matches!(self, Self::BadScale { .. } | Self::NotFinite { .. })
    }
}

impl<E: fmt::Display> fmt::Display for LoadError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Source(e) => write!(f, "{e}"),
            LoadError::Gguf(e) => write!(f, "{e}"),
            LoadError::Config(e) => write!(f, "{e}"),
            LoadError::Tokenizer(e) => write!(f, "{e}"),
            LoadError::MissingTensor { tensor } => {
                write!(f, "tensor {tensor} is missing; convert the model again")
            }
            LoadError::UnknownTensor { tensor } => write!(
                f,
                "tensor {tensor} has no place in this architecture; the model is a variant that is not supported"
            ),
            LoadError::ShapeMismatch {
                tensor,
                expected,
                found,
            } => write!(
                f,
                "tensor {tensor} has {} rows of {} where the configuration needs {} of {}; convert the model again",
                found[0], found[1], expected[0], expected[1]
            ),
            LoadError::UnsupportedType { tensor, ggml_type } => write!(
                f,
                "tensor {tensor} has type {ggml_type}, which is not supported; quantise the model to one of {}",
                Matrix::SUPPORTED
            ),
            LoadError::UnsupportedShape {
                what,
                value,
                multiple,
            } => {
                write!(
                    f,
                    "the model's {what} is {value}, which is no multiple of {multiple}; use another model"
                )
            }
            LoadError::BadScale { tensor, row } => write!(
                f,
                "tensor {tensor}, row {row}: a scale is infinite or no number; the file is damaged, copy it again"
            ),
            LoadError::NotFinite { tensor } => write!(
                f,
                "tensor {tensor} has a value that is infinite or no number; the file is damaged, copy it again"
            ),
            LoadError::OutOfMemory(e) => {
                write!(
                    f,
                    "{e}: use a smaller model, a stronger quantisation or a shorter context"
                )
            }
        }
    }
}

impl<E: core::error::Error> core::error::Error for LoadError<E> {}

impl<E> From<OutOfMemory> for LoadError<E> {
    fn from(error: OutOfMemory) -> Self {
        LoadError::OutOfMemory(error)
    }
}

impl<E> From<gguf::Error> for LoadError<E> {
    fn from(error: gguf::Error) -> Self {
        LoadError::Gguf(error)
    }
}

impl<E> From<config::Error> for LoadError<E> {
    fn from(error: config::Error) -> Self {
        LoadError::Config(error)
    }
}

impl<E> From<tokenizer::Error> for LoadError<E> {
    fn from(error: tokenizer::Error) -> Self {
        LoadError::Tokenizer(error)
    }
}
