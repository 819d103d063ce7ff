//! The first sector of a FAT volume: the BIOS parameter block, checked.
//!
//! Pure. Whoever holds a [`BootSector`] may use its numbers without another thought: no division by
//! zero, no overflow, no region beyond the volume's end. Field offsets: `fatgen103`, pages 9–13.

mod error;
mod kinds;

pub use error::Error;
pub use kinds::{FatType, Other};

use crate::device::{BLOCK_BYTES, Block, has_signature, u16_at, u32_at};

/// Bytes of a directory entry.
const DIRECTORY_ENTRY_BYTES: u64 = 32;
/// Fewer clusters make a FAT12 volume, `fatgen103` page 14.
const FAT16_MIN_CLUSTERS: u64 = 4085;
/// 16-bit entries number fewer clusters than this.
const FAT16_END_CLUSTERS: u64 = 65_525;
/// 28-bit entries from here on are not cluster numbers.
const FAT32_END_CLUSTERS: u64 = 0x0FFF_FFF5;

/// Where the root directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// FAT16: a run of blocks.
    Blocks {
        /// First block, on the card.
        first: u64,
        /// Length.
        n_blocks: u64,
    },
    /// FAT32: a chain.
    Cluster(u32),
}

/// The geometry of a FAT volume. Blocks are counted on the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootSector {
    /// 16 or 32.
    pub fat_type: FatType,
    /// First block of the file allocation table in use.
    pub fat_first_block: u64,
    /// Its length.
    pub fat_n_blocks: u64,
    /// The root directory.
    pub root: Root,
    /// First block of cluster 2.
    pub data_first_block: u64,
    /// A power of two, 1..=128.
    pub cluster_blocks: u64,
    /// Data clusters; their numbers are `2..n_clusters + 2`, and each has an entry in the table.
    pub n_clusters: u32,
    /// First block after the volume; not beyond the card's end.
    pub end_block: u64,
    /// Block of the FSInfo sector (FAT32).
    pub fs_info_block: Option<u64>,
    /// The volume was in use when it was last written to.
    pub dirty: bool,
}

impl BootSector {
    /// A cheap look: could this sector 0 be a boot sector rather than a partition table?
    pub fn looks_like_one(sector: &Block) -> bool {
        let jump = matches!(sector[0], 0xEB | 0xE9);
        let cluster_blocks = sector[13];
        let media = sector[21];
        jump && u16_at(sector, 11).is_power_of_two()
            && u16_at(sector, 11) >= 512
            && cluster_blocks.is_power_of_two()
            && u16_at(sector, 14) != 0
            && sector[16] != 0
            && (media == 0xF0 || media >= 0xF8)
    }

    /// Checks the boot sector of a volume that starts at `first_block` of a card of `card_blocks`.
    pub fn parse(sector: &Block, first_block: u64, card_blocks: u64) -> Result<Self, Error> {
        if let Some(other) = Other::recognise(sector) {
            return Err(Error::Other(other));
        }
        if !has_signature(sector) {
            return Err(Error::NoSignature);
        }
        let bytes = u16_at(sector, 11);
        if usize::from(bytes) != BLOCK_BYTES {
            return Err(match bytes {
                1024 | 2048 | 4096 => Error::SectorSize { bytes },
                _ => field("BPB_BytsPerSec", bytes),
            });
        }
        let cluster_blocks = sector[13];
        if !cluster_blocks.is_power_of_two() {
            return Err(field("BPB_SecPerClus", cluster_blocks));
        }
        let reserved = u16_at(sector, 14);
        if reserved == 0 {
            return Err(field("BPB_RsvdSecCnt", reserved));
        }
        let n_fats = sector[16];
        if !(1..=4).contains(&n_fats) {
            return Err(field("BPB_NumFATs", n_fats));
        }
        let root_entries = u16_at(sector, 17);
        let total = match u16_at(sector, 19) {
            0 => u32_at(sector, 32),
            total => u32::from(total),
        };
        let (fat_type, fat_blocks) = match u16_at(sector, 22) {
            0 => (FatType::Fat32, u32_at(sector, 36)),
            blocks => (FatType::Fat16, u32::from(blocks)),
        };
        if fat_blocks == 0 {
            return Err(field("BPB_FATSz32", fat_blocks));
        }

        // Everything fits u64: 32-bit fields times at most 4, plus 16-bit fields.
        let fats_end = u64::from(reserved) + u64::from(n_fats) * u64::from(fat_blocks);
        let root_blocks =
            (u64::from(root_entries) * DIRECTORY_ENTRY_BYTES).div_ceil(BLOCK_BYTES as u64);
        let data = fats_end + root_blocks;
        if data >= u64::from(total) {
            return Err(field("BPB_TotSec", total));
        }
        // An image of a slightly larger card: only files beyond the end are lost.
        let end_block = first_block
            .saturating_add(u64::from(total))
            .min(card_blocks);
        let on_card = end_block.saturating_sub(first_block.saturating_add(data));
        if on_card < u64::from(cluster_blocks) {
            return Err(Error::BeyondCard {
                end: first_block.saturating_add(u64::from(total)),
                n_blocks: card_blocks,
            });
        }

        let by_size = (u64::from(total) - data) / u64::from(cluster_blocks);
        // Entries of the table, less the two that number no cluster.
        let entries = u64::from(fat_blocks) * BLOCK_BYTES as u64 / fat_type.entry_bytes();
        let n_clusters = by_size.min(entries - 2);
        let n_clusters = n_clusters.min(on_card / u64::from(cluster_blocks));
        let limits = match fat_type {
            FatType::Fat16 => 1..FAT16_END_CLUSTERS,
            FatType::Fat32 => 1..FAT32_END_CLUSTERS,
        };
        if !limits.contains(&by_size) {
            return Err(field("BPB_TotSec", total));
        }
        let n_clusters = n_clusters as u32;
        if fat_type == FatType::Fat16 && by_size < FAT16_MIN_CLUSTERS {
            return Err(Error::Fat12 { n_clusters });
        }

        let mut volume = Self {
            fat_type,
            fat_first_block: first_block + u64::from(reserved),
            fat_n_blocks: u64::from(fat_blocks),
            root: Root::Blocks {
                first: first_block + fats_end,
                n_blocks: root_blocks,
            },
            data_first_block: first_block + data,
            cluster_blocks: u64::from(cluster_blocks),
            n_clusters,
            end_block,
            fs_info_block: None,
            dirty: sector[37] & 1 != 0,
        };
        match fat_type {
            FatType::Fat16 if root_entries == 0 => {
                return Err(field("BPB_RootEntCnt", root_entries));
            }
            FatType::Fat16 => {}
            FatType::Fat32 => volume.parse_fat32(sector, first_block, reserved, n_fats)?,
        }
        Ok(volume)
    }

    /// The fields that only FAT32 has.
    fn parse_fat32(
        &mut self,
        sector: &Block,
        first_block: u64,
        reserved: u16,
        n_fats: u8,
    ) -> Result<(), Error> {
        let version = u16_at(sector, 42);
        if version != 0 {
            return Err(Error::Version { version });
        }
        // Bit 7: the tables are not mirrored, bits 3:0 name the one in use.
        let flags = u16_at(sector, 40);
        if flags & 0x80 != 0 {
            let active = flags & 0xF;
            if active >= u16::from(n_fats) {
                return Err(field("BPB_ExtFlags", flags));
            }
            self.fat_first_block += u64::from(active) * self.fat_n_blocks;
        }
        let root = u32_at(sector, 44);
        if !self.is_cluster(root) {
            return Err(field("BPB_RootClus", root));
        }
        self.root = Root::Cluster(root);
        let fs_info = u16_at(sector, 48);
        if (1..reserved).contains(&fs_info) {
            self.fs_info_block = Some(first_block + u64::from(fs_info));
        }
        self.dirty = sector[65] & 1 != 0;
        Ok(())
    }

    /// Whether `cluster` is the number of a data cluster.
    pub fn is_cluster(&self, cluster: u32) -> bool {
        cluster >= 2 && cluster - 2 < self.n_clusters
    }

    /// Bytes in a cluster.
    pub fn cluster_bytes(&self) -> u64 {
        self.cluster_blocks * BLOCK_BYTES as u64
    }

    /// First block of a data cluster; see [`BootSector::is_cluster`].
    pub fn cluster_first_block(&self, cluster: u32) -> u64 {
        debug_assert!(self.is_cluster(cluster));
        self.data_first_block + u64::from(cluster - 2) * self.cluster_blocks
    }
}

fn field(name: &'static str, value: impl Into<u32>) -> Error {
    Error::Field {
        name,
        value: value.into(),
    }
}

#[cfg(test)]
#[path = "boot_sector_tests.rs"]
mod tests;
