//! Kinds of file systems, by their boot sectors.

use core::fmt;

use crate::device::Block;

/// Which of the two this reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatType {
    /// 16-bit entries, root directory of fixed size.
    Fat16,
    /// 28-bit entries, root directory in clusters.
    Fat32,
}

impl FatType {
    /// Bytes of one entry of the table.
    pub fn entry_bytes(self) -> u64 {
        match self {
            Self::Fat16 => 2,
            Self::Fat32 => 4,
        }
    }
}

impl fmt::Display for FatType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fat16 => "FAT16",
            Self::Fat32 => "FAT32",
        })
    }
}

/// A file system that is not FAT but easily taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// What cards above 32 GB come with.
    ExFat,
    /// Windows' own.
    Ntfs,
}

impl Other {
    /// Recognises the OEM name of a boot sector.
    pub fn recognise(sector: &Block) -> Option<Self> {
        match &sector[3..11] {
            b"EXFAT   " => Some(Self::ExFat),
            b"NTFS    " => Some(Self::Ntfs),
            _ => None,
        }
    }
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ExFat => "exFAT",
            Self::Ntfs => "NTFS",
        })
    }
}
