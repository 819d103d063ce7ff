//! Why there is no file.

use alloc::string::String;
use core::fmt;

use drivers::sd::CardError;

/// Why there is no file.
#[derive(Clone, Debug)]
pub enum Error {
    /// Slot, card, volume or file: the sentence says which.
    Storage(storage::Error<CardError>),
    /// A model is not what its checksum file says.
    Checksum {
        /// The model's name.
        name: String,
        /// What the checksum file says.
        expected: u32,
        /// What the model has.
        found: u32,
    },
    /// A checksum file without a checksum.
    NoChecksum {
        /// The checksum file's name.
        name: String,
    },
    /// A file that is to be read whole is longer than it may be.
    TooLong {
        /// Its name.
        name: String,
        /// Its length.
        len_bytes: u64,
        /// The limit.
        limit_bytes: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage(error) => error.fmt(f),
            Self::Checksum {
                name,
                expected,
                found,
            } => write!(
                f,
                "{name} is damaged: its CRC-32C is {found:08x}, its checksum file says {expected:08x}: copy it again"
            ),
            Self::NoChecksum { name } => write!(
                f,
                "{name} does not begin with eight hexadecimal digits: write it again or delete it"
            ),
            Self::TooLong {
                name,
                len_bytes,
                limit_bytes,
            } => write!(
                f,
                "{name} has {len_bytes} bytes: no more than {limit_bytes} are read, shorten it"
            ),
        }
    }
}

impl core::error::Error for Error {}

impl From<storage::Error<CardError>> for Error {
    fn from(error: storage::Error<CardError>) -> Self {
        Self::Storage(error)
    }
}
