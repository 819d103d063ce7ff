//! Boot sectors: other file systems, and numbers that cannot be.

use super::BOOT_SECTOR;
use crate::board::card_with;
use crate::cards::fault;
use std::fs;
use tests::card::Card;
use tests::layout::Layout;

const FORMAT: &str = "format it as FAT32 with an MBR partition table";

/// What is said of a card whose boot sector has `bytes` at `offset`.
fn boot_sector(offset: u64, bytes: &[u8], what: &str) {
    let card = card_with(&[]).patched(BOOT_SECTOR + offset, bytes);
    fault(&card, &format!("{what}: {FORMAT}"));
}

#[test]
fn exfat() {
    let more = " (cards above 32 GB come with exFAT)";
    let card = Card::with(&[]).patched(BOOT_SECTOR + 3, b"EXFAT   ");
    fault(
        &card,
        &format!("the card is formatted as exFAT: {FORMAT}{more}"),
    );
}

#[test]
fn ntfs() {
    boot_sector(3, b"NTFS    ", "the card is formatted as NTFS");
}

#[test]
fn a_partition_that_was_never_formatted() {
    boot_sector(0, &[0; 512], "the FAT partition is not formatted");
}

#[test]
fn sectors_of_another_size() {
    let line = "the FAT volume has sectors of 4096 bytes, not 512";
    boot_sector(11, &4096u16.to_le_bytes(), line);
}

#[test]
fn sectors_of_no_size() {
    let line = "the FAT boot sector is damaged (BPB_BytsPerSec = 0)";
    boot_sector(11, &[0, 0], line);
}

#[test]
fn clusters_of_no_sectors() {
    let line = "the FAT boot sector is damaged (BPB_SecPerClus = 0)";
    boot_sector(13, &[0], line);
}

#[test]
fn clusters_of_three_sectors() {
    let line = "the FAT boot sector is damaged (BPB_SecPerClus = 3)";
    boot_sector(13, &[3], line);
}

#[test]
fn no_reserved_sectors() {
    let line = "the FAT boot sector is damaged (BPB_RsvdSecCnt = 0)";
    boot_sector(14, &[0, 0], line);
}

#[test]
fn no_table() {
    let line = "the FAT boot sector is damaged (BPB_NumFATs = 0)";
    boot_sector(16, &[0], line);
}

#[test]
fn a_table_of_no_sectors() {
    let line = "the FAT boot sector is damaged (BPB_FATSz32 = 0)";
    boot_sector(36, &[0; 4], line);
}

#[test]
fn a_table_longer_than_its_volume() {
    let line = "the FAT boot sector is damaged (BPB_TotSec = 129024)";
    boot_sector(36, &[0xFF; 4], line);
}

#[test]
fn a_version_of_later_days() {
    boot_sector(42, &[1, 0], "the volume is FAT32 version 0x1");
}

#[test]
fn a_root_directory_outside_of_the_volume() {
    let line = "the FAT boot sector is damaged (BPB_RootClus = 4294967295)";
    boot_sector(44, &[0xFF; 4], line);
}

#[test]
fn a_table_in_use_that_is_none_of_the_volumes() {
    let line = "the FAT boot sector is damaged (BPB_ExtFlags = 133)";
    boot_sector(40, &[0x85, 0], line);
}

/// A sixteenth of FAT16's sectors, as a floppy has them.
#[test]
fn fat12() {
    let card = Layout::SecondPartition.card(&[]);
    // the first partition alone, too short for FAT16
    let card = card.patched(466, &[0; 16]);
    let card = card.patched(BOOT_SECTOR + 19, &2000u16.to_le_bytes());
    let image = fs::read(card.path()).unwrap();
    let clusters = fat12_clusters(&image[BOOT_SECTOR as usize..]);
    fault(
        &card,
        &format!("the volume is FAT12 ({clusters} clusters): {FORMAT}"),
    );
}

/// Clusters of a volume without a FAT32's table, by the rule of Microsoft's specification.
fn fat12_clusters(boot: &[u8]) -> usize {
    let word = |at: usize| usize::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
    let root = (word(17) * 32).div_ceil(512);
    (word(19) - word(14) - usize::from(boot[16]) * word(22) - root) / usize::from(boot[13])
}
