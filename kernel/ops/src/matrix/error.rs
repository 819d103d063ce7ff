//! Why a tensor cannot be a matrix.

use super::Matrix;
use crate::GgmlType;
use crate::arena::OutOfMemory;

/// Why a tensor cannot be a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No kernel reads this type.
    #[error("type {0} is not supported; use one of {supported}", supported = Matrix::SUPPORTED)]
    UnsupportedType(GgmlType),
    /// The arena is too small.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// A block's scale is infinite or NaN: the file is damaged.
    #[error("a scale in row {row} is infinite or NaN; the file is damaged")]
    BadScale {
        /// The row with the block.
        row: usize,
    },
}
