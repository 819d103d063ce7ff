//! What can be wrong with a GGUF file.

use alloc::string::String;

use super::{MAX_ARRAY_NESTING, MAX_DIMS};
use crate::one_line::OneLine;

/// A file that cannot be used, with the facts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the sentences say what the fields hold")]
pub enum Error {
    /// The bytes at hand end before the header does; the file goes on.
    #[error("the header goes on: {needed_bytes} bytes of the file are needed to go on")]
    Truncated { needed_bytes: u64 },
    /// The file itself ends too early.
    #[error(
        "the file is truncated: it has {have_bytes} bytes and needs {needed_bytes}; copy the \
         file again"
    )]
    FileTooShort { have_bytes: u64, needed_bytes: u64 },
    /// The file does not start with `GGUF`.
    #[error("not a GGUF file: it starts with \"{}\"{}", .found.escape_ascii(), instead(.found))]
    BadMagic { found: [u8; 4] },
    /// A GGUF file of a big-endian machine.
    #[error("a big-endian GGUF file; get or convert a little-endian one")]
    BigEndian,
    /// A version other than 2 and 3.
    #[error("GGUF version {version}; versions 2 and 3 are supported: convert the model again")]
    UnsupportedVersion { version: u32 },
    /// A count beyond the reader's limit.
    #[error("{count} {what} claimed at byte {offset}: the limit is {max}; copy the file again")]
    CountTooLarge {
        what: &'static str,
        offset: u64,
        count: u64,
        max: u64,
    },
    /// A string beyond the reader's limit.
    #[error(
        "a string of {len_bytes} bytes at byte {offset}: the limit is {max_bytes}; copy the \
         file again"
    )]
    StringTooLong {
        offset: u64,
        len_bytes: u64,
        max_bytes: u64,
    },
    /// Arrays in arrays beyond the reader's limit.
    #[error("arrays nested deeper than {MAX_ARRAY_NESTING} at byte {offset}; copy the file again")]
    ArrayTooDeep { offset: u64 },
    /// A length that overflows the file's offsets.
    #[error("a length at byte {offset} overflows; copy the file again")]
    LengthOverflow { offset: u64 },
    /// A metadata type that the format does not define.
    #[error("metadata type {id} at byte {offset} is not defined; copy the file again")]
    UnknownValueType { offset: u64, id: u32 },
    /// A boolean that is neither 0 nor 1.
    #[error("a boolean at byte {offset} is neither 0 nor 1; copy the file again")]
    BadBool { offset: u64 },
    /// A key or a tensor name that is not text.
    #[error("a name at byte {offset} is not UTF-8; copy the file again")]
    NameNotUtf8 { offset: u64 },
    /// A string value that is not text.
    #[error("{} is not UTF-8; convert the model again", OneLine(.key))]
    NotUtf8 { key: String },
    /// One key twice.
    #[error("{} is there twice; convert the model again", OneLine(.key))]
    DuplicateKey { key: String },
    /// A key that the model needs and the file lacks.
    #[error("{} is missing; convert the model again with a current converter", OneLine(.key))]
    MissingKey { key: String },
    /// A key with a value of another type.
    #[error(
        "{} is of type {found}, {expected} is expected; convert the model again",
        OneLine(.key)
    )]
    WrongType {
        key: String,
        expected: &'static str,
        found: &'static str,
    },
    /// An integer that is negative or does not fit 32 bits.
    #[error("{} is negative or too large; convert the model again", OneLine(.key))]
    OutOfRange { key: String },
    /// `general.alignment` is no power of two, or absurd.
    #[error(
        "general.alignment is {alignment}, a power of two up to 1048576 is expected; convert \
         the model again"
    )]
    BadAlignment { alignment: u32 },
    /// One tensor name twice.
    #[error("tensor {} is there twice; convert the model again", OneLine(.tensor))]
    DuplicateTensor { tensor: String },
    /// No dimension, or too many.
    #[error(
        "tensor {} has {n_dims} dimensions, 1 to {MAX_DIMS} are expected; copy the file again",
        OneLine(.tensor)
    )]
    BadDims { tensor: String, n_dims: u32 },
    /// A dimension is 0.
    #[error("tensor {} has a dimension of 0; convert the model again", OneLine(.tensor))]
    EmptyTensor { tensor: String },
    /// A tensor type that ggml does not define or has retired.
    #[error(
        "tensor {} has the unknown type {id}; quantise the model to Q8_0 or Q4_0",
        OneLine(.tensor)
    )]
    UnknownTensorType { tensor: String, id: u32 },
    /// Rows that are not whole blocks.
    #[error(
        "tensor {} has rows of {row_len} elements, {ggml_type} needs multiples of {block_len}; \
         convert the model again",
        OneLine(.tensor)
    )]
    RaggedRow {
        tensor: String,
        row_len: u64,
        ggml_type: &'static str,
        block_len: u64,
    },
    /// A shape whose length overflows.
    #[error("the size of tensor {} overflows; copy the file again", OneLine(.tensor))]
    ShapeOverflow { tensor: String },
    /// Data that does not start at the file's alignment.
    #[error(
        "tensor {} lies at data offset {offset}, not a multiple of {alignment}; convert the \
         model again",
        OneLine(.tensor)
    )]
    UnalignedTensor {
        tensor: String,
        offset: u64,
        alignment: u64,
    },
    /// Two tensors that share bytes.
    #[error(
        "tensors {} and {} overlap; convert the model again",
        OneLine(.first), OneLine(.second)
    )]
    OverlappingTensors { first: String, second: String },
    /// Metadata and tensor table beyond the reader's limit.
    #[error("the header is longer than {max_bytes} bytes; copy the file again")]
    HeaderTooLong { max_bytes: u64 },
    /// No memory for the header.
    #[error("no memory for {bytes} bytes of header; use a model with a smaller vocabulary")]
    OutOfMemory { bytes: u64 },
}

/// What a file that starts with `magic` is, and what to use.
fn instead(magic: &[u8; 4]) -> &'static str {
    match magic {
        b"vers" => ", as a Git LFS pointer does; download the model itself",
        b"ggml" | b"ggjt" | b"lmgg" | b"tjgg" => {
            ", a format older than GGUF; get a GGUF of this model"
        }
        _ => " instead of \"GGUF\"; use a model in GGUF format",
    }
}
