//! Why a card yields no file: one sentence each, with what to do.

use alloc::string::String;

use crate::boot_sector::{self, Other};
use crate::{chain, mbr};

const FORMAT: &str = "format it as FAT32 with an MBR partition table";

/// What else to say when the card may be as it was bought.
fn hint(is_exfat: bool) -> &'static str {
    if is_exfat {
        " (cards above 32 GB come with exFAT)"
    } else {
        ""
    }
}

/// What went wrong. `E` is the device's error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error<E> {
    /// The card could not be read.
    #[error("{0}")]
    Device(E),
    /// Sector 0 leads nowhere.
    #[error("{0}: {FORMAT}{hint}", hint = hint(matches!(.0, mbr::Error::Other(Other::ExFat))))]
    Partition(#[from] mbr::Error),
    /// The volume is none that this reader knows, or is damaged.
    #[error("{0}: {FORMAT}{hint}", hint = hint(matches!(.0, boot_sector::Error::Other(Other::ExFat))))]
    Format(#[from] boot_sector::Error),
    /// The root directory's chain is damaged.
    #[error("the card's root directory is damaged ({0}): repair the card or format it anew")]
    RootDirectory(chain::Error<E>),
    /// There is no `*.gguf` in the root directory.
    #[error(
        "no *.gguf file in the card's root directory (files there: {n_files}): copy a model to it"
    )]
    NoModel {
        /// Files that are there.
        n_files: usize,
    },
    /// There is no file of this name in the root directory.
    #[error("no file {name:?} in the card's root directory: see the names with /models")]
    NotFound {
        /// The name asked for.
        name: String,
    },
    /// The file's chain is damaged.
    #[error("{name} is damaged: {cause}: copy the file again")]
    File {
        /// The file's name.
        name: String,
        /// What is wrong.
        cause: chain::Error<E>,
    },
    /// A read beyond the end of a file.
    #[error(
        "{name} ends at byte {file_len} but bytes {offset} to {} are needed: copy it again",
        .offset.saturating_add(*.len)
    )]
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
        matches!(self, Self::Device(_))
    }
}
