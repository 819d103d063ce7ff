//! Volumes of FAT.

mod boot_sectors;
mod chains;

use xtask::card::{PARTITION_START, SECTOR};

/// First byte of the partition's boot sector.
const BOOT_SECTOR: u64 = PARTITION_START * SECTOR;
