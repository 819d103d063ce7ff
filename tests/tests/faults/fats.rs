//! Volumes: boot sectors, directories and tables of FAT.

use crate::board::{card_with, tiny, with_board};
use crate::cards::fault;
use std::fs;
use tests::card::Card;
use tests::layout::Layout;
use xtask::card::{CardFile, PARTITION_START, SECTOR};

const FORMAT: &str = "format it as FAT32 with an MBR partition table";
/// First byte of the partition's boot sector.
const BOOT_SECTOR: u64 = PARTITION_START * SECTOR;

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

/// The tables and clusters of a card.
struct Volume {
    table: u64,
    data: u64,
    cluster_bytes: u64,
    image: Vec<u8>,
}

impl Volume {
    fn of(card: &Card) -> Volume {
        let image = fs::read(card.path()).unwrap();
        let boot = &image[BOOT_SECTOR as usize..];
        let number = |at: usize, len: usize| {
            let bytes = boot[at..at + len].iter().rev();
            bytes.fold(0u64, |number, &byte| number << 8 | u64::from(byte))
        };
        let table = BOOT_SECTOR + number(14, 2) * SECTOR;
        Volume {
            table,
            data: table + number(16, 1) * number(36, 4) * SECTOR,
            cluster_bytes: number(13, 1) * SECTOR,
            image,
        }
    }

    /// Where the table has the entry of `cluster`.
    fn entry(&self, cluster: u32) -> u64 {
        self.table + u64::from(cluster) * 4
    }

    /// Where the root directory has the entry of the short name `name`; its first cluster.
    fn file(&self, name: &[u8; 11]) -> (u64, u32) {
        let root = &self.image[self.data as usize..][..4 * self.cluster_bytes as usize];
        let at = root.chunks(32).position(|entry| entry.starts_with(name));
        let at = at.expect("the file is there") * 32;
        let half = |offset: usize| {
            u32::from(u16::from_le_bytes([
                root[at + offset],
                root[at + offset + 1],
            ]))
        };
        (self.data + at as u64, half(20) << 16 | half(26))
    }
}

/// A card with a second model, in one piece, and where it is.
fn with_copy() -> (Card, Volume) {
    let card = card_with(&[CardFile::bytes("COPY.GGUF", tiny())]);
    let volume = Volume::of(&card);
    (card, volume)
}

const COPY: &[u8; 11] = b"COPY~1  GGU";

/// What is said of a file of `card` whose chain is damaged. The model before stays.
fn chain(card: &Card, cause: &str) {
    let line = format!("COPY.GGUF is damaged: {cause}: copy the file again");
    with_board(|board| {
        board.insert(card);
        assert_eq!(board.types_line("/load copy"), [line.as_str()]);
        board.refuses(r#"{"op":"load","name":"copy","id":1}"#, 1, "card", &line);
    });
}

fn n_clusters(volume: &Volume) -> u64 {
    (tiny().len() as u64).div_ceil(volume.cluster_bytes)
}

#[test]
fn a_chain_that_ends_early() {
    let (card, volume) = with_copy();
    let (_, first) = volume.file(COPY);
    let card = card.patched(volume.entry(first + 9), &0x0FFF_FFFFu32.to_le_bytes());
    let need = n_clusters(&volume);
    chain(
        &card,
        &format!("only 10 of its {need} clusters are on the card"),
    );
}

#[test]
fn a_chain_in_a_circle() {
    let (card, volume) = with_copy();
    let (_, first) = volume.file(COPY);
    let card = card.patched(volume.entry(first + 9), &(first + 3).to_le_bytes());
    chain(&card, "its cluster chain runs in a circle");
}

#[test]
fn a_chain_that_leads_out_of_the_volume() {
    let (card, volume) = with_copy();
    let (_, first) = volume.file(COPY);
    let card = card.patched(volume.entry(first), &0x0FFF_0000u32.to_le_bytes());
    let need = n_clusters(&volume);
    chain(
        &card,
        &format!("only 1 of its {need} clusters are on the card"),
    );
}

#[test]
fn a_bad_cluster_in_a_chain() {
    let (card, volume) = with_copy();
    let (_, first) = volume.file(COPY);
    let card = card.patched(volume.entry(first + 4), &0x0FFF_FFF7u32.to_le_bytes());
    let need = n_clusters(&volume);
    chain(
        &card,
        &format!("only 5 of its {need} clusters are on the card"),
    );
}

#[test]
fn a_file_without_a_first_cluster() {
    let (card, volume) = with_copy();
    let (at, _) = volume.file(COPY);
    let card = card.patched(at + 20, &[0; 2]).patched(at + 26, &[0; 2]);
    let need = n_clusters(&volume);
    chain(
        &card,
        &format!("only 0 of its {need} clusters are on the card"),
    );
}

#[test]
fn a_length_that_the_chain_does_not_have() {
    let (card, volume) = with_copy();
    let (at, _) = volume.file(COPY);
    let card = card.patched(at + 28, &0x7FFF_FFFFu32.to_le_bytes());
    let (have, need) = (n_clusters(&volume), 0x8000_0000 / volume.cluster_bytes);
    chain(
        &card,
        &format!("only {have} of its {need} clusters are on the card"),
    );
}

/// A chain backwards through the volume: each cluster is a piece of its own.
#[test]
fn a_file_in_too_many_pieces() {
    let (card, volume) = with_copy();
    let (at, first) = volume.file(COPY);
    let n = 66_000;
    let last = first + n - 1;
    let before = (first - 1..last).map(|before| match before {
        _ if before < first => 0x0FFF_FFFF,
        _ => before,
    });
    let entries: Vec<u8> = before.flat_map(u32::to_le_bytes).collect();
    let len = n * volume.cluster_bytes as u32;
    let [low0, low1, high0, high1] = last.to_le_bytes();
    let card = card
        .patched(volume.entry(first), &entries)
        .patched(at + 20, &[high0, high1])
        .patched(at + 26, &[low0, low1])
        .patched(at + 28, &len.to_le_bytes());
    chain(&card, "it lies in more than 65536 pieces");
}

#[test]
fn a_root_directory_in_a_circle() {
    let (card, volume) = with_copy();
    let card = card.patched(volume.entry(2), &2u32.to_le_bytes());
    // no end among its entries either
    let label = [b"A          \x08".as_slice(), &[0; 20]].concat();
    let full = label.repeat(volume.cluster_bytes as usize / 32);
    let card = card.patched(volume.data, &full);
    fault(
        &card,
        "the card's root directory is damaged (its cluster chain runs in a circle): repair the card or format it anew",
    );
}

#[test]
fn a_root_directory_of_deleted_files() {
    let (card, volume) = with_copy();
    let root = &volume.image[volume.data as usize..][..volume.cluster_bytes as usize];
    let entries = root.chunks(32).take_while(|entry| entry[0] != 0).count();
    let card =
        (0..entries as u64).fold(card, |card, i| card.patched(volume.data + 32 * i, &[0xE5]));
    fault(
        &card,
        "no *.gguf file in the card's root directory (files there: 0): copy a model to it",
    );
}

/// The short name stands where the long one is not of this file, and it ends in `.GGU`.
#[test]
fn long_names_that_are_not_their_files() {
    let (card, volume) = with_copy();
    let root = &volume.image[volume.data as usize..][..volume.cluster_bytes as usize];
    let is_long = |entry: &[u8]| entry[0] != 0 && entry[11] == 0x0F;
    let entries = root.chunks(32).enumerate();
    let long: Vec<_> = entries.filter(|(_, entry)| is_long(entry)).collect();
    assert!(long.len() >= 3, "{long:?}");
    let card = long.iter().fold(card, |card, (i, entry)| {
        card.patched(volume.data + 32 * *i as u64 + 13, &[!entry[13]])
    });
    fault(
        &card,
        "no *.gguf file in the card's root directory (files there: 2): copy a model to it",
    );
}
