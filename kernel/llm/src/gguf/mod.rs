//! GGUF: one file with configuration, tokenizer and weights, read as if it meant harm.
//!
//! ```text
//! magic "GGUF" · version u32 · n_tensors u64 · n_metadata u64
//! metadata: key string · type u32 · value
//! tensors:  name string · n_dims u32 · dims u64 × n_dims · type u32 · offset u64
//! padding up to general.alignment (32 when absent) · tensor data
//! ```
//! A string is a u64 length and its bytes; every integer is little-endian. The parser keeps
//! where values lie in the header: a vocabulary of 50 000 strings costs no allocation.
//!
//! Resources: ggml `docs/gguf.md`, versions 2 and 3.

mod cursor;
mod error;
mod header;
mod metadata;
mod tensors;
mod value;

pub use error::Error;
pub use header::Gguf;
pub use metadata::Metadata;
pub use tensors::TensorInfo;
pub use value::{Array, Value, ValueType};

/// Most bytes that header, metadata and tensor table may have together. The largest known (256 k
/// tokens with merges) stay under 16 MiB.
pub const MAX_HEADER_BYTES: u64 = 64 << 20;
/// Most bytes of one metadata string; a chat template has about 10 000.
pub const MAX_STRING_BYTES: u64 = 16 << 20;
/// Most bytes of a key, from the specification.
pub const MAX_KEY_BYTES: u64 = 65_535;
/// Most bytes of a tensor name, from the specification.
pub const MAX_TENSOR_NAME_BYTES: u64 = 64;
/// Most metadata entries; real files have 20 to 60.
pub const MAX_METADATA: u64 = 1 << 14;
/// Most tensors; a 126-layer model has about 1 100.
pub const MAX_TENSORS: u64 = 1 << 16;
/// Most elements of an array; the largest vocabularies have 262 144 tokens.
pub const MAX_ARRAY_LEN: u64 = 1 << 22;
/// How deep arrays may hold arrays.
pub const MAX_ARRAY_NESTING: u32 = 3;
/// Most dimensions of a tensor, from ggml.
pub const MAX_DIMS: u32 = 4;
/// Largest alignment accepted: a larger one is a damaged file.
pub const MAX_ALIGNMENT: u64 = 1 << 20;
/// Alignment when `general.alignment` is absent, from the specification.
pub const DEFAULT_ALIGNMENT: u64 = 32;
