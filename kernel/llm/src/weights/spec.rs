//! What a model asks of its file.

use alloc::string::{String, ToString};

/// What a tensor is used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows to multiply with.
    Matrix,
    /// A vector of floats.
    Vector,
}

/// A tensor that a model has, by ggml's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// What it is used as.
    pub kind: Kind,
    /// Rows; 1 for a vector.
    pub rows: usize,
    /// Length of a row.
    pub cols: usize,
    /// Whether the model does without it.
    pub optional: bool,
}

impl Spec {
    /// The matrix `name`, `(rows, cols)`.
    pub fn matrix(name: &str, (rows, cols): (usize, usize)) -> Self {
        Spec {
            name: name.to_string(),
            kind: Kind::Matrix,
            rows,
            cols,
            optional: false,
        }
    }

    /// The vector `name` of `len` floats.
    pub fn vector(name: &str, len: usize) -> Self {
        Spec {
            kind: Kind::Vector,
            ..Spec::matrix(name, (1, len))
        }
    }

    /// The same tensor where the model does without it.
    pub fn optional(self) -> Self {
        Spec {
            optional: true,
            ..self
        }
    }
}
