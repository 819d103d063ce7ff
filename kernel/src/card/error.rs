//! Why there is no file.

use alloc::string::String;

use drivers::sd::CardError;

/// Why there is no file.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Slot, card, volume or file: the sentence says which.
    #[error(transparent)]
    Storage(#[from] storage::Error<CardError>),
    /// A model is not what its checksum file says.
    #[error(
        "{name} is damaged: its CRC-32C is {found:08x}, its checksum file says {expected:08x}: copy it again"
    )]
    Checksum {
        /// The model's name.
        name: String,
        /// What the checksum file says.
        expected: u32,
        /// What the model has.
        found: u32,
    },
    /// A checksum file without a checksum.
    #[error("{name} does not begin with eight hexadecimal digits: write it again or delete it")]
    NoChecksum {
        /// The checksum file's name.
        name: String,
    },
    /// The heap is full.
    #[error("too little memory is free to read {len_bytes} bytes at once: load a smaller model")]
    NoMemory {
        /// What was to be read.
        len_bytes: usize,
    },
    /// A file that is to be read whole is longer than it may be.
    #[error("{name} has {len_bytes} bytes: no more than {limit_bytes} are read, shorten it")]
    TooLong {
        /// Its name.
        name: String,
        /// Its length.
        len_bytes: u64,
        /// The limit.
        limit_bytes: usize,
    },
}
