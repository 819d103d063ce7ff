//! Why a file could not be written.

use std::io;

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the fields are what the sentences of Display print"
)]
pub enum Error {
    /// The writer failed.
    #[error("writing the GGUF file failed: {0}")]
    Io(io::Error),
    /// `general.alignment` is not a power-of-two `u32` of at least 8.
    #[error("general.alignment must be a u32, a power of two and at least 8")]
    Alignment,
    /// A row would end inside a block.
    #[error(
        "rows of {tensor} have {row_len} values, which is no multiple of the type's \
             {block_len}-value blocks; choose a type of smaller blocks or a wider shape, such as llama-wide"
    )]
    RowNotWhole {
        tensor: String,
        row_len: u64,
        block_len: u64,
    },
}
