//! Cards with any partition table that the board's boot loader starts from.

use crate::card::Card;
use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};
use fscommon::{BufStream, StreamSlice};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use xtask::card::{CardFile, MIN_BYTES, PARTITION_START, SECTOR};

const SECTORS: u64 = MIN_BYTES / SECTOR;
/// A boot volume as a system's image has it: too small for a model.
const BOOT_VOLUME: Range<u64> = PARTITION_START..PARTITION_START + (16 << 11);
/// A GUID partition table has its entries in so many sectors, at both ends of the card.
const GPT_ENTRY_SECTORS: u64 = 32;
/// Sectors at the end of the card that such a table takes.
const GPT_BACKUP_SECTORS: u64 = GPT_ENTRY_SECTORS + 1;

const FAT16_LBA: u8 = 0x0E;
const FAT32_LBA: u8 = 0x0C;
const PROTECTIVE: u8 = 0xEE;
/// EBD0A0A2-B9E5-4433-87C0-68B6B72699C7 in its mixed byte order.
const BASIC_DATA: [u8; 16] = *b"\xA2\xA0\xD0\xEB\xE5\xB9\x33\x44\x87\xC0\x68\xB6\xB7\x26\x99\xC7";

/// Where a card has its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The first partition of a master boot record.
    Mbr,
    /// The first partition of a GUID partition table.
    Gpt,
    /// No table: the card is one volume.
    Superfloppy,
    /// The second partition; the first is a small FAT16 without them.
    SecondPartition,
}

impl Layout {
    /// All of them.
    pub const ALL: [Layout; 4] = [
        Layout::Mbr,
        Layout::Gpt,
        Layout::Superfloppy,
        Layout::SecondPartition,
    ];

    /// The smallest card, with `files`.
    ///
    /// # Panics
    /// The image cannot be written, or the files do not fit.
    pub fn card(self, files: &[CardFile]) -> Card {
        let card = Card::of_zeros(MIN_BYTES);
        let image = File::options().read(true).write(true).open(card.path());
        let image = image.expect("the card is there");
        let to_the_end = PARTITION_START..SECTORS;
        match self {
            Layout::Mbr => {
                write_mbr(&image, &[(FAT32_LBA, to_the_end.clone())]);
                write_volume(&image, to_the_end, FatType::Fat32, files);
            }
            Layout::Gpt => {
                let partition = PARTITION_START..SECTORS - GPT_BACKUP_SECTORS;
                write_mbr(&image, &[(PROTECTIVE, 1..SECTORS)]);
                write_gpt(&image, &partition);
                write_volume(&image, partition, FatType::Fat32, files);
            }
            Layout::Superfloppy => write_volume(&image, 0..SECTORS, FatType::Fat32, files),
            Layout::SecondPartition => {
                let second = BOOT_VOLUME.end..SECTORS;
                let table = [(FAT16_LBA, BOOT_VOLUME), (FAT32_LBA, second.clone())];
                write_mbr(&image, &table);
                let note = CardFile::bytes("issue.txt", *b"a system's boot volume");
                write_volume(&image, BOOT_VOLUME, FatType::Fat16, &[note]);
                write_volume(&image, second, FatType::Fat32, files);
            }
        }
        card
    }
}

/// A card with the file `name`, every 512 bytes of it in another place.
///
/// # Panics
/// The image cannot be written, or the file does not fit.
pub fn in_pieces(name: &str, bytes: &[u8]) -> Card {
    let card = Layout::Superfloppy.card(&[]);
    let image = File::options().read(true).write(true).open(card.path());
    let image = BufStream::new(image.expect("the card is there"));
    let volume = FileSystem::new(image, FsOptions::new()).expect("a volume");
    let mut file = volume.root_dir().create_file(name).expect("room");
    let mut between = volume.root_dir().create_file("between").expect("room");
    for piece in bytes.chunks(SECTOR as usize) {
        file.write_all(piece).expect("room");
        between.write_all(&[0; SECTOR as usize]).expect("room");
    }
    drop((file, between));
    volume.unmount().expect("the card can be written");
    card
}

fn write_at(mut image: &File, sector: u64, bytes: &[u8]) {
    let at = SeekFrom::Start(sector * SECTOR);
    image.seek(at).expect("the card can be sought");
    image.write_all(bytes).expect("the card can be written");
}

fn write_mbr(image: &File, partitions: &[(u8, Range<u64>)]) {
    let mut mbr = [0; SECTOR as usize];
    for (entry, (kind, sectors)) in mbr[446..510].chunks_exact_mut(16).zip(partitions) {
        entry[4] = *kind;
        entry[8..12].copy_from_slice(&(sectors.start as u32).to_le_bytes());
        let len = (sectors.end - sectors.start) as u32;
        entry[12..16].copy_from_slice(&len.to_le_bytes());
    }
    mbr[510..].copy_from_slice(&[0x55, 0xAA]);
    write_at(image, 0, &mbr);
}

/// Both copies of a table with one partition (UEFI Specification 2.10, §5.3).
fn write_gpt(image: &File, partition: &Range<u64>) {
    let mut entries = vec![0; (GPT_ENTRY_SECTORS * SECTOR) as usize];
    entries[..16].copy_from_slice(&BASIC_DATA);
    entries[16..32].fill(0x50);
    entries[32..40].copy_from_slice(&partition.start.to_le_bytes());
    entries[40..48].copy_from_slice(&(partition.end - 1).to_le_bytes());
    let last = SECTORS - 1;
    for (here, other, entries_at) in [(1, last, 2), (last, 1, last - GPT_ENTRY_SECTORS)] {
        let mut header = [0; SECTOR as usize];
        header[..8].copy_from_slice(b"EFI PART");
        header[8..16].copy_from_slice(&[0, 0, 1, 0, 92, 0, 0, 0]);
        let usable = 2 + GPT_ENTRY_SECTORS..SECTORS - GPT_BACKUP_SECTORS;
        let places = [here, other, usable.start, usable.end - 1];
        for (field, place) in header[24..56].chunks_exact_mut(8).zip(places) {
            field.copy_from_slice(&place.to_le_bytes());
        }
        header[56..72].fill(0x49);
        header[72..80].copy_from_slice(&u64::to_le_bytes(entries_at));
        header[80..88].copy_from_slice(&[128, 0, 0, 0, 128, 0, 0, 0]);
        header[88..92].copy_from_slice(&crc32(&entries).to_le_bytes());
        let sum = crc32(&header[..92]);
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        write_at(image, here, &header);
        write_at(image, entries_at, &entries);
    }
}

/// CRC-32 of ISO 3309, as GUID partition tables have it.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ ((crc & 1) * 0xEDB8_8320);
    let add = |crc: u32, &byte: &u8| (0..8).fold(crc ^ u32::from(byte), step);
    !bytes.iter().fold(u32::MAX, add)
}

fn write_volume(image: &File, sectors: Range<u64>, fat_type: FatType, files: &[CardFile]) {
    let slice = || {
        let slice = StreamSlice::new(image, sectors.start * SECTOR, sectors.end * SECTOR);
        BufStream::new(slice.expect("a part of the card"))
    };
    let options = FormatVolumeOptions::new()
        .fat_type(fat_type)
        .bytes_per_cluster(if fat_type == FatType::Fat32 {
            512
        } else {
            2048
        })
        .total_sectors((sectors.end - sectors.start) as u32);
    fatfs::format_volume(slice(), options).expect("a volume that can be");
    let volume = FileSystem::new(slice(), FsOptions::new()).expect("a volume");
    for CardFile { name, contents } in files {
        let xtask::card::Contents::Bytes(bytes) = contents else {
            panic!("{name}: files of these cards are in memory");
        };
        let mut file = volume.root_dir().create_file(name).expect("room");
        file.write_all(bytes).expect("room");
    }
    volume.unmount().expect("the card can be written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_has_the_value_that_catalogues_give() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
