//! Why a card yields no file: one sentence each, with what to do.

use alloc::string::String;
use core::fmt;

use crate::boot_sector::{self, Other};
use crate::{chain, mbr};

/// What went wrong. `E` is the device's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error<E> {
    /// The card could not be read.
    Device(E),
    /// Sector 0 leads nowhere.
    Partition(mbr::Error),
    /// The volume is none that this reader knows, or is damaged.
    Format(boot_sector::Error),
    /// The root directory's chain is damaged.
    RootDirectory(chain::Error<E>),
    /// There is no `*.gguf` in the root directory.
    NoModel {
        /// Files that are there.
        n_files: usize,
    },
    /// There is no file of this name in the root directory.
    NotFound {
        /// The name asked for.
        name: String,
    },
    /// The file's chain is damaged.
    File {
        /// The file's name.
        name: String,
        /// What is wrong.
        cause: chain::Error<E>,
    },
    /// A read beyond the end of a file.
    PastEnd {
        /// The file's name.
        name: String,
        /// First byte asked for.
        offset: u64,
        /// Bytes asked for.
        len: u64,
        /// Bytes in the file.
        file_len: u64,
    },
}

impl<E> Error<E> {
    /// Whether the card failed, rather than what is on it.
    pub fn is_device(&self) -> bool {
        match self {
            Self::Device(_) => true,
            Self::RootDirectory(cause) | Self::File { cause, .. } => {
                matches!(cause, chain::Error::Table(_))
            }
            _ => false,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FORMAT: &str = "format it as FAT32 with an MBR partition table";
        match self {
            Self::Device(error) => error.fmt(f),
            Self::Partition(mbr::Error::Other(other))
            | Self::Format(boot_sector::Error::Other(other)) => {
                write!(f, "the card is formatted as {other}: {FORMAT}")?;
                match other {
                    Other::ExFat => f.write_str(" (cards above 32 GB come with exFAT)"),
                    Other::Ntfs => Ok(()),
                }
            }
            Self::Partition(error) => write!(f, "{error}: {FORMAT}"),
            Self::Format(error) => write!(f, "{error}: {FORMAT}"),
            Self::RootDirectory(cause) => write!(
                f,
                "the card's root directory is damaged ({cause}): repair the card or format it anew"
            ),
            Self::NoModel { n_files } => write!(
                f,
                "no *.gguf file in the card's root directory (files there: {n_files}): copy a model to it"
            ),
            Self::NotFound { name } => write!(
                f,
                "no file {name:?} in the card's root directory: see the names with /models"
            ),
            Self::File { name, cause } => {
                write!(f, "{name} is damaged: {cause}: copy the file again")
            }
            Self::PastEnd {
                name,
                offset,
                len,
                file_len,
            } => write!(
                f,
                "{name} ends at byte {file_len} but bytes {offset} to {} are needed: copy it again",
                offset.saturating_add(*len)
            ),
        }
    }
}

impl<E: core::error::Error> core::error::Error for Error<E> {}

impl<E> From<mbr::Error> for Error<E> {
    fn from(error: mbr::Error) -> Self {
        Self::Partition(error)
    }
}

impl<E> From<boot_sector::Error> for Error<E> {
    fn from(error: boot_sector::Error) -> Self {
        Self::Format(error)
    }
}
