//! Why a tensor cannot be a matrix.

use core::fmt;

use super::Matrix;
use crate::GgmlType;
use crate::arena::OutOfMemory;

/// Why a tensor cannot be a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// No kernel reads this type.
    UnsupportedType(GgmlType),
    /// The arena is too small.
    OutOfMemory(OutOfMemory),
    /// A block's scale is infinite or no number: the file is damaged.
    BadScale {
        /// The row with the block.
        row: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnsupportedType(t) => {
                write!(
                    f,
                    "type {t} is not supported; use one of {}",
                    Matrix::SUPPORTED
                )
            }
            Error::OutOfMemory(e) => write!(f, "{e}"),
            Error::BadScale { row } => {
                write!(
                    f,
                    "a scale in row {row} is infinite or no number; the file is damaged"
                )
            }
        }
    }
}

impl core::error::Error for Error {}

impl From<OutOfMemory> for Error {
    fn from(e: OutOfMemory) -> Self {
        Error::OutOfMemory(e)
    }
}
