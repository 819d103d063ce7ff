//! What can be wrong with a GGUF file.

use alloc::string::String;
use core::fmt::{self, Write};

use super::{MAX_ARRAY_NESTING, MAX_DIMS};
use crate::one_line::OneLine;

/// A file that cannot be used, with the facts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the variants' sentences say what their fields hold"
)]
pub enum Error {
    /// The bytes at hand end before the header does; the file goes on.
    Truncated { needed_bytes: u64 },
    /// The file itself ends too early.
    FileTooShort { have_bytes: u64, needed_bytes: u64 },
    /// The file does not start with `GGUF`.
    BadMagic { found: [u8; 4] },
    /// A GGUF file of a big-endian machine.
    BigEndian,
    /// A version other than 2 and 3.
    UnsupportedVersion { version: u32 },
    /// A count beyond the reader's limit.
    CountTooLarge {
        what: &'static str,
        offset: u64,
        count: u64,
        max: u64,
    },
    /// A string beyond the reader's limit.
    StringTooLong {
        offset: u64,
        len_bytes: u64,
        max_bytes: u64,
    },
    /// Arrays in arrays beyond the reader's limit.
    ArrayTooDeep { offset: u64, max: u32 },
    /// A length that overflows the file's offsets.
    LengthOverflow { offset: u64 },
    /// A metadata type that the format does not define.
    UnknownValueType { offset: u64, id: u32 },
    /// A boolean that is neither 0 nor 1.
    BadBool { offset: u64 },
    /// A key or a tensor name that is not text.
    NameNotUtf8 { offset: u64 },
    /// A string value that is not text.
    NotUtf8 { key: String },
    /// One key twice.
    DuplicateKey { key: String },
    /// A key that the model needs and the file lacks.
    MissingKey { key: String },
    /// A key with a value of another type.
    WrongType {
        key: String,
        expected: &'static str,
        found: &'static str,
    },
    /// An integer that is negative or does not fit 32 bits.
    OutOfRange { key: String },
    /// `general.alignment` is no power of two, or absurd.
    BadAlignment { alignment: u32 },
    /// One tensor name twice.
    DuplicateTensor { tensor: String },
    /// No dimension, or too many.
    BadDims { tensor: String, n_dims: u32 },
    /// A dimension is 0.
    EmptyTensor { tensor: String },
    /// A tensor type that ggml does not define or has retired.
    UnknownTensorType { tensor: String, id: u32 },
    /// Rows that are not whole blocks.
    RaggedRow {
        tensor: String,
        row_len: u64,
        ggml_type: &'static str,
        block_len: u64,
    },
    /// A shape whose length overflows.
    ShapeOverflow { tensor: String },
    /// Data that does not start at the file's alignment.
    UnalignedTensor {
        tensor: String,
        offset: u64,
        alignment: u64,
    },
    /// Two tensors that share bytes.
    OverlappingTensors { first: String, second: String },
    /// Metadata and tensor table beyond the reader's limit.
    HeaderTooLong { max_bytes: u64 },
    /// No memory for the header.
    OutOfMemory { bytes: u64 },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f = &mut OneLine::new(f);
        const COPY_AGAIN: &str = "copy the file again";
        match self {
            Error::Truncated { needed_bytes } => {
                write!(
                    f,
                    "the header goes on: {needed_bytes} bytes of the file are needed to go on"
                )
            }
            Error::FileTooShort {
                have_bytes,
                needed_bytes,
            } => write!(
                f,
                "the file is truncated: it has {have_bytes} bytes and needs {needed_bytes}; {COPY_AGAIN}"
            ),
            Error::BadMagic { found } => {
                write!(f, "not a GGUF file: it starts with \"")?;
                for byte in found {
                    write!(f, "{}", byte.escape_ascii())?;
                }
                match found {
                    b"vers" => write!(
                        f,
                        "\", as a Git LFS pointer does; download the model itself"
                    ),
                    b"ggml" | b"ggjt" | b"lmgg" | b"tjgg" => {
                        write!(f, "\", a format older than GGUF; get a GGUF of this model")
                    }
                    _ => write!(f, "\" instead of \"GGUF\"; use a model in GGUF format"),
                }
            }
            Error::BigEndian => {
                write!(
                    f,
                    "a big-endian GGUF file; get or convert a little-endian one"
                )
            }
            Error::UnsupportedVersion { version } => {
                write!(
                    f,
                    "GGUF version {version}; versions 2 and 3 are supported: convert the model again"
                )
            }
            Error::CountTooLarge {
                what,
                offset,
                count,
                max,
            } => {
                write!(
                    f,
                    "{count} {what} claimed at byte {offset}: the limit is {max}; {COPY_AGAIN}"
                )
            }
            Error::StringTooLong {
                offset,
                len_bytes,
                max_bytes,
            } => write!(
                f,
                "a string of {len_bytes} bytes at byte {offset}: the limit is {max_bytes}; {COPY_AGAIN}"
            ),
            Error::ArrayTooDeep { offset, .. } => write!(
                f,
                "arrays nested deeper than {MAX_ARRAY_NESTING} at byte {offset}; {COPY_AGAIN}"
            ),
            Error::LengthOverflow { offset } => {
                write!(f, "a length at byte {offset} overflows; {COPY_AGAIN}")
            }
            Error::UnknownValueType { offset, id } => {
                write!(
                    f,
                    "metadata type {id} at byte {offset} is not defined; {COPY_AGAIN}"
                )
            }
            Error::BadBool { offset } => {
                write!(
                    f,
                    "a boolean at byte {offset} is neither 0 nor 1; {COPY_AGAIN}"
                )
            }
            Error::NameNotUtf8 { offset } => {
                write!(f, "a name at byte {offset} is not UTF-8; {COPY_AGAIN}")
            }
            Error::NotUtf8 { key } => write!(f, "{key} is not UTF-8; convert the model again"),
            Error::DuplicateKey { key } => {
                write!(f, "{key} is there twice; convert the model again")
            }
            Error::MissingKey { key } => {
                write!(
                    f,
                    "{key} is missing; convert the model again with a current converter"
                )
            }
            Error::WrongType {
                key,
                expected,
                found,
            } => {
                write!(
                    f,
                    "{key} is of type {found}, {expected} is expected; convert the model again"
                )
            }
            Error::OutOfRange { key } => {
                write!(f, "{key} is negative or too large; convert the model again")
            }
            Error::BadAlignment { alignment } => write!(
                f,
                "general.alignment is {alignment}, a power of two up to 1048576 is expected; convert the model again"
            ),
            Error::DuplicateTensor { tensor } => {
                write!(f, "tensor {tensor} is there twice; convert the model again")
            }
            Error::BadDims { tensor, n_dims } => {
                write!(
                    f,
                    "tensor {tensor} has {n_dims} dimensions, 1 to {MAX_DIMS} are expected; {COPY_AGAIN}"
                )
            }
            Error::EmptyTensor { tensor } => {
                write!(
                    f,
                    "tensor {tensor} has a dimension of 0; convert the model again"
                )
            }
            Error::UnknownTensorType { tensor, id } => {
                write!(
                    f,
                    "tensor {tensor} has the unknown type {id}; quantise the model to Q8_0 or Q4_0"
                )
            }
            Error::RaggedRow {
                tensor,
                row_len,
                ggml_type,
                block_len,
            } => write!(
                f,
                "tensor {tensor} has rows of {row_len} elements, {ggml_type} needs multiples of {block_len}; convert the model again"
            ),
            Error::ShapeOverflow { tensor } => {
                write!(f, "the size of tensor {tensor} overflows; {COPY_AGAIN}")
            }
            Error::UnalignedTensor {
                tensor,
                offset,
                alignment,
            } => write!(
                f,
                "tensor {tensor} lies at data offset {offset}, not a multiple of {alignment}; convert the model again"
            ),
            Error::OverlappingTensors { first, second } => {
                write!(
                    f,
                    "tensors {first} and {second} overlap; convert the model again"
                )
            }
            Error::HeaderTooLong { max_bytes } => {
                write!(
                    f,
                    "the header is longer than {max_bytes} bytes; {COPY_AGAIN}"
                )
            }
            Error::OutOfMemory { bytes } => {
                write!(
                    f,
                    "no memory for {bytes} bytes of header; use a model with a smaller vocabulary"
                )
            }
        }
    }
}

impl core::error::Error for Error {}
