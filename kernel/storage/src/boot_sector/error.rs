//! Why a boot sector is refused.

use super::Other;

/// Why a sector is not the boot sector of a FAT volume that this reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No 55 AA at the end.
    #[error("the FAT partition is not formatted")]
    NoSignature,
    /// Another file system.
    #[error("the card is formatted as {0}")]
    Other(Other),
    /// Sectors of another size than the card's blocks.
    #[error("the FAT volume has sectors of {bytes} bytes, not 512")]
    SectorSize {
        /// Bytes per sector.
        bytes: u16,
    },
    /// FAT12: fewer than 4085 clusters.
    #[error("the volume is FAT12 ({n_clusters} clusters)")]
    Fat12 {
        /// Clusters of the volume.
        n_clusters: u32,
    },
    /// A version of FAT32 that came after 0.0.
    #[error("the volume is FAT32 version {version:#x}")]
    Version {
        /// `BPB_FSVer`.
        version: u16,
    },
    /// A field with a value that no formatter writes.
    #[error("the FAT boot sector is damaged ({name} = {value})")]
    Field {
        /// Name of the field in `fatgen103`.
        name: &'static str,
        /// Its value.
        value: u32,
    },
    /// The volume claims more blocks than its card has.
    #[error("the FAT volume ends at block {end} but the card has {n_blocks}")]
    BeyondCard {
        /// First block after the volume.
        end: u64,
        /// Blocks on the card.
        n_blocks: u64,
    },
}
