//! Partition tables for tests, and a card for them.

use super::{FAT32, Format, MIB, pattern, ram_card, write};
use storage::gpt;

/// First blocks of the two volumes.
pub const FIRST: u64 = MIB as u64 / 512;
pub const SECOND: u64 = 41 * FIRST;
pub const CARD_BYTES: usize = 82 * MIB;
pub const N_BLOCKS: u64 = CARD_BYTES as u64 / 512;
pub const PARTITIONS: [(&str, u64); 3] = [(EFI_SYSTEM, FIRST), (LINUX, 3), (BASIC_DATA, SECOND)];

/// "Basic data" and the EFI system partition, as the specification spells them.
const BASIC_DATA: &str = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7";
const EFI_SYSTEM: &str = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
pub const LINUX: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";

/// A card with two volumes and no table.
pub fn two_volumes() -> Vec<u8> {
    let superfloppy = Format {
        first_block: 0,
        ..FAT32
    };
    let volume = |name: &'static str, seed| {
        let card = ram_card(40 * MIB, superfloppy, move |fs| {
            write(fs, name, &pattern(seed, MIB));
            write(fs, "both.gguf", &pattern(seed, 1000));
        });
        card.medium.into_inner()
    };
    let mut bytes = vec![0; MIB];
    bytes.extend(volume("first.gguf", 1));
    bytes.extend(volume("second.gguf", 2));
    bytes.resize(CARD_BYTES, 0);
    bytes
}

/// Entries of a partition table in sector 0: type, first block.
pub fn mbr(bytes: &mut [u8], entries: &[(u8, u64)]) {
    for (i, &(partition_type, first)) in entries.iter().enumerate() {
        let entry = &mut bytes[446 + 16 * i..][..16];
        entry[4] = partition_type;
        entry[8..12].copy_from_slice(&(first as u32).to_le_bytes());
        entry[12..16].copy_from_slice(&81_920_u32.to_le_bytes());
    }
    bytes[510..512].copy_from_slice(&[0x55, 0xAA]);
}

/// A type's bytes: the first three groups are little-endian numbers.
pub fn guid(text: &str) -> [u8; 16] {
    let groups: Vec<&str> = text.split('-').collect();
    let hex = |group: &str| -> Vec<u8> {
        let digits = group.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.map(byte).collect()
    };
    let mut bytes = Vec::new();
    for group in &groups[..3] {
        bytes.extend(hex(group).iter().rev());
    }
    groups[3..]
        .iter()
        .for_each(|group| bytes.extend(hex(group)));
    bytes.try_into().unwrap()
}

/// One copy of a table: a header at `at`, its entries, and where the other header is.
pub fn gpt_copy(bytes: &mut [u8], [at, entries_at, other]: [u64; 3], partitions: &[(&str, u64)]) {
    let entries = &mut bytes[entries_at as usize * 512..][..128 * 128];
    for (i, (kind, first)) in partitions.iter().enumerate() {
        // Each in another block of entries.
        let entry = &mut entries[5 * 128 * i..][..128];
        entry[..16].copy_from_slice(&guid(kind));
        entry[32..40].copy_from_slice(&first.to_le_bytes());
        entry[40..48].copy_from_slice(&(first + 81_919).to_le_bytes());
    }
    let entries_crc = gpt::crc32(entries.iter().copied());
    let header = &mut bytes[at as usize * 512..][..512];
    header[..8].copy_from_slice(b"EFI PART");
    for (offset, value) in [
        (8, 0x1_0000_u32),
        (12, 92),
        (80, 128),
        (84, 128),
        (88, entries_crc),
    ] {
        header[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }
    for (offset, value) in [(24, at), (32, other), (72, entries_at)] {
        header[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }
    seal(header);
}

/// Gives a header its checksum.
pub fn seal(header: &mut [u8]) {
    header[16..20].fill(0);
    let crc = gpt::crc32(header[..92].iter().copied());
    header[16..20].copy_from_slice(&crc.to_le_bytes());
}

/// Both copies, in a card or an image of `n_blocks`.
pub fn gpt_table(bytes: &mut [u8], n_blocks: u64, partitions: &[(&str, u64)]) {
    mbr(bytes, &[(0xEE, 1)]);
    let last = n_blocks - 1;
    gpt_copy(bytes, [1, 2, last], partitions);
    gpt_copy(bytes, [last, last - 32, 1], partitions);
}
