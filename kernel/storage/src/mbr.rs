//! Sector 0: where the FAT volume is, or what there is instead.
//!
//! Pure. A card has a partition table (MBR), or is one volume without a table ("superfloppy"), or
//! is something that the Raspberry Pi's firmware cannot boot from either.

use alloc::format;
use alloc::string::String;

use crate::boot_sector::{self, BootSector};
use crate::device::{Block, has_signature, u32_at};

const TABLE: usize = 446;
const ENTRY_BYTES: usize = 16;

/// Partitions that may hold a FAT volume, in table order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    first_blocks: [Option<u32>; 5],
    /// Whether there is a protective entry too: a GUID partition table may name more.
    pub is_hybrid: bool,
}

impl Candidates {
    /// First blocks of the candidates.
    pub fn first_blocks(&self) -> impl Iterator<Item = u32> {
        self.first_blocks.into_iter().flatten()
    }
}

/// Why sector 0 leads to no FAT volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing but zeros, or nothing but ones: a card that was never formatted.
    #[error("the card is empty")]
    Blank,
    /// No signature: no partition table and no file system that is known here.
    #[error("the card has no partition table")]
    NoTable,
    /// A partition table without partitions.
    #[error("the card's partition table is empty")]
    NoPartition,
    /// The protective table of a GUID partition table, which names the partitions.
    #[error("the card's partition table (GPT) has no FAT partition")]
    Gpt,
    /// Partitions, none of a FAT type.
    #[error("the card has no FAT partition (found type{})", listed(.types))]
    NoFat {
        /// Partition types, 0 for unused entries.
        types: [u8; 4],
    },
    /// The whole card is one file system of another kind.
    #[error("the card is formatted as {0}")]
    Other(boot_sector::Other),
}

/// The types of the entries in use.
fn listed(types: &[u8; 4]) -> String {
    let used = types.iter().filter(|&&t| t != 0);
    used.map(|partition_type| format!(" {partition_type:#04x}"))
        .collect()
}

/// Finds the volumes that may be FAT.
pub fn parse(sector: &Block) -> Result<Candidates, Error> {
    if let Some(other) = boot_sector::Other::recognise(sector) {
        return Err(Error::Other(other));
    }
    if !has_signature(sector) {
        let blank = sector.iter().all(|&b| b == sector[0]) && matches!(sector[0], 0 | 0xFF);
        return Err(if blank { Error::Blank } else { Error::NoTable });
    }
    let mut candidates = Candidates::default();
    if BootSector::looks_like_one(sector) {
        // A card that was one volume and then got a table keeps the parameter block: Linux prefers a
        // table that can be one. Whether a volume begins there is for its boot sector to say.
        if is_plausible(sector) {
            candidates = parse_table(sector).unwrap_or_else(|error| Candidates {
                is_hybrid: error == Error::Gpt,
                ..Candidates::default()
            });
        }
        candidates.first_blocks[4] = Some(0);
        return Ok(candidates);
    }
    parse_table(sector)
}

/// Whether what is left in the table's place of a boot sector can be a table: code is not.
fn is_plausible(sector: &Block) -> bool {
    let entries = sector[TABLE..TABLE + 4 * ENTRY_BYTES].chunks_exact(ENTRY_BYTES);
    let mut entries = entries.map(|entry| {
        let is_unused = entry.iter().all(|&byte| byte == 0);
        let (first_block, n_blocks) = (u32_at(entry, 8), u32_at(entry, 12));
        let is_used = entry[0] & 0x7F == 0 && entry[4] != 0 && first_block != 0 && n_blocks != 0;
        is_unused || is_used
    });
    entries.all(|is_sane| is_sane)
}

fn parse_table(sector: &Block) -> Result<Candidates, Error> {
    let mut types = [0; 4];
    let mut candidates = Candidates::default();
    for i in 0..4 {
        let entry = &sector[TABLE + i * ENTRY_BYTES..][..ENTRY_BYTES];
        let (status, partition_type, first_block) = (entry[0], entry[4], u32_at(entry, 8));
        if partition_type == 0 {
            continue;
        }
        if status & 0x7F != 0 {
            // Only 0x00 and 0x80 exist: these bytes are no partition table.
            return Err(Error::NoTable);
        }
        types[i] = partition_type;
        candidates.is_hybrid |= partition_type == PROTECTIVE;
        if is_fat(partition_type) && first_block != 0 {
            candidates.first_blocks[i] = Some(first_block);
        }
    }
    if candidates.first_blocks().next().is_some() {
        Ok(candidates)
    } else if candidates.is_hybrid {
        Err(Error::Gpt)
    } else if types == [0; 4] {
        Err(Error::NoPartition)
    } else {
        Err(Error::NoFat { types })
    }
}

/// First block of a partition of type 0x07, which is exFAT or NTFS, if there is one: its boot sector
/// says which.
pub fn exfat_or_ntfs(sector: &Block) -> Option<u32> {
    let entries = sector[TABLE..TABLE + 4 * ENTRY_BYTES].chunks_exact(ENTRY_BYTES);
    entries
        .filter(|entry| entry[4] == 0x07)
        .map(|entry| u32_at(entry, 8))
        .next()
}

/// What boot managers add to the type of a partition that they hide.
const HIDDEN: u8 = 0x10;
/// Stands for a GUID partition table.
const PROTECTIVE: u8 = 0xEE;
/// The EFI system partition is FAT.
const EFI_SYSTEM: u8 = 0xEF;

/// FAT12, FAT16 and FAT32 in all their spellings. A boot sector says which it is.
fn is_fat(partition_type: u8) -> bool {
    matches!(
        partition_type & !HIDDEN,
        0x01 | 0x04 | 0x06 | 0x0B | 0x0C | 0x0E
    ) || partition_type == EFI_SYSTEM
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(u8, u8, u32)]) -> Block {
        let mut sector = [0; 512];
        for (i, &(status, partition_type, first)) in entries.iter().enumerate() {
            let entry = &mut sector[TABLE + i * 16..][..16];
            entry[0] = status;
            entry[4] = partition_type;
            entry[8..12].copy_from_slice(&first.to_le_bytes());
            entry[12..16].copy_from_slice(&1000u32.to_le_bytes());
        }
        sector[510..].copy_from_slice(&[0x55, 0xAA]);
        sector
    }

    fn first_blocks(sector: &Block) -> Vec<u32> {
        parse(sector).unwrap().first_blocks().collect()
    }

    #[test]
    fn fat_partitions_in_table_order() {
        let sector = table(&[(0x80, 0x0C, 8192), (0, 0x83, 532_480)]);
        assert_eq!(first_blocks(&sector), [8192]);
        let sector = table(&[(0, 0x83, 2048), (0, 0x0B, 4096), (0, 0, 0), (0, 0x0E, 9000)]);
        assert_eq!(first_blocks(&sector), [4096, 9000]);
        // A hybrid table counts by what it has.
        let sector = table(&[(0, 0xEE, 1), (0, 0x0C, 2048)]);
        assert_eq!(first_blocks(&sector), [2048]);
    }

    #[test]
    fn hidden_and_efi_partitions_are_fat_too() {
        for partition_type in [0x11, 0x14, 0x16, 0x1B, 0x1C, 0x1E, 0xEF] {
            let sector = table(&[(0, partition_type, 2048)]);
            assert_eq!(first_blocks(&sector), [2048], "{partition_type:#x}");
        }
        for partition_type in [0x07, 0x0F, 0x17, 0x2C, 0x82, 0xFF] {
            assert!(parse(&table(&[(0, partition_type, 2048)])).is_err());
        }
    }

    #[test]
    fn a_table_counts_more_than_the_parameter_block_before_it() {
        let stale = |entries: &[(u8, u8, u32)]| {
            let mut sector = table(entries);
            sector[..3].copy_from_slice(&[0xEB, 0x3C, 0x90]);
            sector[11..13].copy_from_slice(&512_u16.to_le_bytes());
            (sector[13], sector[14], sector[16], sector[21]) = (8, 32, 2, 0xF8);
            sector
        };
        let sector = stale(&[(0x80, 0x0C, 8192), (0, 0x83, 532_480)]);
        assert_eq!(first_blocks(&sector), [8192, 0]);
        assert_eq!(first_blocks(&stale(&[])), [0]);
        assert_eq!(first_blocks(&stale(&[(0, 0x83, 2048)])), [0]);
        // A partition without a length is none, as in code that happens to have a type.
        let mut sector = stale(&[(0, 0x0C, 8192)]);
        sector[TABLE + 12..][..4].fill(0);
        assert_eq!(first_blocks(&sector), [0]);
        // Code in the table's place.
        assert_eq!(first_blocks(&stale(&[(0x12, 0x0C, 8192)])), [0]);
        assert_eq!(first_blocks(&stale(&[(0, 0x0C, 0)])), [0]);
    }

    #[test]
    fn cards_without_fat_are_named() {
        assert_eq!(parse(&[0; 512]), Err(Error::Blank));
        assert_eq!(parse(&[0xFF; 512]), Err(Error::Blank));
        assert_eq!(parse(&[0x17; 512]), Err(Error::NoTable));
        assert_eq!(parse(&table(&[])), Err(Error::NoPartition));
        assert_eq!(parse(&table(&[(0, 0xEE, 1)])), Err(Error::Gpt));
        let types = [0x07, 0x83, 0, 0];
        let sector = table(&[(0, 0x07, 2048), (0, 0x83, 4096)]);
        assert_eq!(parse(&sector), Err(Error::NoFat { types }));
        assert_eq!(exfat_or_ntfs(&sector), Some(2048));
        assert_eq!(exfat_or_ntfs(&table(&[(0, 0x0C, 1)])), None);
        assert_eq!(
            Error::NoFat { types }.to_string(),
            "the card has no FAT partition (found type 0x07 0x83)"
        );
        // A status byte that no table has.
        assert_eq!(parse(&table(&[(0x12, 0x0C, 1)])), Err(Error::NoTable));
        // A FAT partition that would start at the table itself.
        let types = [0x0C, 0, 0, 0];
        assert_eq!(parse(&table(&[(0, 0x0C, 0)])), Err(Error::NoFat { types }));
    }

    #[test]
    fn a_file_system_of_another_kind_on_the_whole_card() {
        let mut sector = table(&[]);
        sector[3..11].copy_from_slice(b"EXFAT   ");
        let exfat = Error::Other(boot_sector::Other::ExFat);
        assert_eq!(parse(&sector), Err(exfat));
        assert_eq!(exfat.to_string(), "the card is formatted as exFAT");
    }
}
