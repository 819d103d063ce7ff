//! Why a file could not be written.

use std::fmt;
use std::io;

/// Why a file could not be written.
#[derive(Debug)]
#[expect(
    missing_docs,
    reason = "the fields are what the sentences of Display print"
)]
pub enum Error {
    /// The writer failed.
    Io(io::Error),
    /// `general.alignment` is not a power-of-two `u32` of at least 8.
    Alignment,
    /// A row would end inside a block.
    RowNotWhole {
        tensor: String,
        row_len: u64,
        block_len: u64,
    },
    /// Tensor bytes out of the table's order; `expected` is empty when all are written.
    Order { given: String, expected: String },
    /// More bytes than the tensor's shape and type take.
    Overfull { tensor: String, len_bytes: u64 },
    /// The file ended before this tensor did.
    Unfinished { tensor: String },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(e) => write!(f, "writing the GGUF file failed: {e}"),
            Error::Alignment => {
                write!(
                    f,
                    "general.alignment must be a u32, a power of two and at least 8"
                )
            }
            Error::RowNotWhole {
                tensor,
                row_len,
                block_len,
            } => write!(
                f,
                "rows of {tensor} have {row_len} values, which is no multiple of the type's \
                 {block_len}-value blocks; keep this tensor in F16 or F32"
            ),
            Error::Order { given, expected } if expected.is_empty() => {
                write!(f, "bytes of {given} after the last declared tensor")
            }
            Error::Order { given, expected } => {
                write!(f, "bytes of {given} where {expected} was declared next")
            }
            Error::Overfull { tensor, len_bytes } => {
                write!(f, "more than the {len_bytes} bytes of {tensor}")
            }
            Error::Unfinished { tensor } => write!(f, "the bytes of {tensor} are incomplete"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(e) => Some(e),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Error {
        Error::Io(e)
    }
}
