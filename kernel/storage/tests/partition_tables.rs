//! Where the volumes of a card are, by every kind of table that the board boots from.

mod images;

use std::io::Cursor;

use images::{Card, FAT32, Format, MIB, names, pattern, ram_card, read_all, write};
use storage::{Volume, gpt};

const FIRST: u64 = MIB as u64 / 512;
const SECOND: u64 = 41 * FIRST;
const CARD_BYTES: usize = 82 * MIB;

/// "Basic data" and the EFI system partition, as the specification spells them.
const BASIC_DATA: &str = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7";
const EFI_SYSTEM: &str = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
const LINUX: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";

/// A card with two volumes and no table.
fn two_volumes() -> Vec<u8> {
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
fn mbr(bytes: &mut [u8], entries: &[(u8, u64)]) {
    for (i, &(partition_type, first)) in entries.iter().enumerate() {
        let entry = &mut bytes[446 + 16 * i..][..16];
        entry[4] = partition_type;
        entry[8..12].copy_from_slice(&(first as u32).to_le_bytes());
        entry[12..16].copy_from_slice(&81_920_u32.to_le_bytes());
    }
    bytes[510..512].copy_from_slice(&[0x55, 0xAA]);
}

/// A type's bytes: the first three groups are little-endian numbers.
fn guid(text: &str) -> [u8; 16] {
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
fn gpt_copy(bytes: &mut [u8], [at, entries_at, other]: [u64; 3], partitions: &[(&str, u64)]) {
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
fn seal(header: &mut [u8]) {
    header[16..20].fill(0);
    let crc = gpt::crc32(header[..92].iter().copied());
    header[16..20].copy_from_slice(&crc.to_le_bytes());
}

/// Both copies, in a card or an image of `n_blocks`.
fn gpt_table(bytes: &mut [u8], n_blocks: u64, partitions: &[(&str, u64)]) {
    mbr(bytes, &[(0xEE, 1)]);
    let last = n_blocks - 1;
    gpt_copy(bytes, [1, 2, last], partitions);
    gpt_copy(bytes, [last, last - 32, 1], partitions);
}

const N_BLOCKS: u64 = CARD_BYTES as u64 / 512;
const PARTITIONS: [(&str, u64); 3] = [(EFI_SYSTEM, FIRST), (LINUX, 3), (BASIC_DATA, SECOND)];
const HEADER: std::ops::Range<usize> = 512..1024;

type Table = fn(&mut Vec<u8>);

/// What the board boots from, and what is left of it after an accident.
const TABLES: [(&str, Table); 16] = [
    ("MBR", |bytes| mbr(bytes, &[(0x0C, FIRST), (0x0C, SECOND)])),
    ("EFI and hidden types", |bytes| {
        mbr(bytes, &[(0xEF, FIRST), (0x1C, SECOND)]);
    }),
    (
        "the second partition is FAT16's type, a third is Linux'",
        |bytes| {
            mbr(bytes, &[(0x83, 3), (0x0B, FIRST), (0x0E, SECOND)]);
        },
    ),
    ("a first FAT partition that was never formatted", |bytes| {
        mbr(bytes, &[(0x0C, 100), (0x0C, FIRST), (0x0C, SECOND)]);
    }),
    ("one volume before it got its table", |bytes| {
        bytes.copy_within(MIB..MIB + 440, 0);
        mbr(bytes, &[(0x0C, FIRST), (0x0C, SECOND)]);
    }),
    ("GPT", |bytes| gpt_table(bytes, N_BLOCKS, &PARTITIONS)),
    ("hybrid: GPT, and a table of the same partitions", |bytes| {
        gpt_table(bytes, N_BLOCKS, &PARTITIONS);
        mbr(bytes, &[(0xEE, 1), (0x0C, FIRST), (0x0C, SECOND)]);
    }),
    ("hybrid that names one partition of two", |bytes| {
        gpt_table(bytes, N_BLOCKS, &PARTITIONS);
        mbr(bytes, &[(0x0C, FIRST), (0xEE, 1)]);
    }),
    ("hybrid of which one partition begins at 0", |bytes| {
        mbr(
            bytes,
            &[(0x0C, FIRST), (0xEE, 1), (0x0C, SECOND), (0x0C, 0)],
        );
    }),
    (
        "GPT with a damaged header that names other entries",
        |bytes| {
            gpt_table(bytes, N_BLOCKS, &PARTITIONS);
            let entry = bytes[1024..1152].to_vec();
            bytes[40 * 512..][..128].copy_from_slice(&entry);
            bytes[HEADER][72] = 40;
        },
    ),
    ("GPT whose header was overwritten", |bytes| {
        gpt_table(bytes, N_BLOCKS, &PARTITIONS);
        bytes[HEADER].fill(0xFF);
    }),
    ("GPT whose entries were overwritten", |bytes| {
        gpt_table(bytes, N_BLOCKS, &PARTITIONS);
        bytes[1024..34 * 512].fill(0);
    }),
    (
        "GPT of an image that is shorter than the card, damaged",
        |bytes| {
            gpt_table(bytes, N_BLOCKS - 100, &PARTITIONS);
            bytes[HEADER][72] = 40;
        },
    ),
    ("GPT of an image that is longer than the card", |bytes| {
        gpt_table(bytes, N_BLOCKS, &PARTITIONS);
        bytes.truncate(CARD_BYTES - 40 * 512);
    }),
    ("GPT without its copy, and with a wrong checksum", |bytes| {
        gpt_table(bytes, N_BLOCKS, &PARTITIONS);
        bytes[HEADER][16] ^= 1;
        bytes.truncate(CARD_BYTES - 512);
    }),
    ("GPT whose copy names nothing", |bytes| {
        gpt_table(bytes, N_BLOCKS, &PARTITIONS);
        let last = CARD_BYTES - 512;
        bytes[last + 80..last + 84].fill(0);
        seal(&mut bytes[last..]);
        bytes[HEADER][16] ^= 1;
    }),
];

#[test]
fn every_volume_of_a_table_is_searched() {
    let volumes = two_volumes();
    for (name, table) in TABLES {
        let mut bytes = volumes.clone();
        table(&mut bytes);
        let mut volume = Volume::mount(Card::new(Cursor::new(bytes))).expect(name);
        assert_eq!(volume.n_volumes(), 2, "{name}");
        let models = volume.list_models().unwrap();
        let expected = ["both.gguf", "first.gguf", "second.gguf"];
        assert_eq!(names(&models), expected, "{name}");
        for (file, seed, len) in [
            ("second.gguf", 2, MIB),
            ("first.gguf", 1, MIB),
            ("both.gguf", 1, 1000),
        ] {
            let file = volume.open(file).unwrap();
            assert!(read_all(&mut volume, &file) == pattern(seed, len), "{name}");
        }
    }
}

#[test]
fn a_superfloppy_is_one_volume() {
    let superfloppy = Format {
        first_block: 0,
        ..FAT32
    };
    let card = ram_card(40 * MIB, superfloppy, |fs| write(fs, "a.gguf", b"x"));
    let mut volume = Volume::mount(card).unwrap();
    assert_eq!(volume.n_volumes(), 1);
    assert_eq!(names(&volume.list_models().unwrap()), ["a.gguf"]);
}

/// What stands in the table's place of a boot sector need not be one: only a partition with a parameter
/// block of its own counts.
#[test]
fn a_table_that_leads_nowhere_leaves_the_volume_that_the_card_is() {
    let superfloppy = Format {
        first_block: 0,
        ..FAT32
    };
    let card = ram_card(40 * MIB, superfloppy, |fs| write(fs, "a.gguf", b"x"));
    let mut bytes = card.medium.into_inner();
    mbr(&mut bytes, &[(0x0C, 50 * FIRST), (0x0C, FIRST), (0xEE, 1)]);
    let mut volume = Volume::mount(Card::new(Cursor::new(bytes))).unwrap();
    assert_eq!(volume.n_volumes(), 1);
    assert_eq!(names(&volume.list_models().unwrap()), ["a.gguf"]);
}

/// As on a system's card: a boot volume without models, and one that was made for them.
#[test]
fn a_model_in_the_second_volume_is_found() {
    let boot = Format {
        first_block: 0,
        cluster_bytes: 2048,
        fat_type: fatfs::FatType::Fat16,
    };
    let data = Format {
        first_block: 0,
        ..FAT32
    };
    let model = pattern(3, MIB + 7);
    let mut bytes = vec![0; MIB];
    let card = ram_card(40 * MIB, boot, |fs| write(fs, "cmdline.txt", b"quiet"));
    bytes.extend(card.medium.into_inner());
    let card = ram_card(40 * MIB, data, |fs| {
        write(fs, "model.gguf", &model);
        write(fs, "model.gguf.crc32c", b"01234567");
    });
    bytes.extend(card.medium.into_inner());
    bytes.resize(CARD_BYTES, 0);
    let tables: [Table; 2] = [
        |bytes| mbr(bytes, &[(0x0E, FIRST), (0x0C, SECOND)]),
        |bytes| gpt_table(bytes, N_BLOCKS, &PARTITIONS),
    ];
    for table in tables {
        let mut bytes = bytes.clone();
        table(&mut bytes);
        let mut volume = Volume::mount(Card::new(Cursor::new(bytes))).unwrap();
        assert_eq!(names(&volume.list_models().unwrap()), ["model.gguf"]);
        let file = volume.open("model.gguf").unwrap();
        assert!(read_all(&mut volume, &file) == model);
        let file = volume.open("model.gguf.crc32c").unwrap();
        assert_eq!(read_all(&mut volume, &file), b"01234567");
        let file = volume.open("cmdline.txt").unwrap();
        assert_eq!(read_all(&mut volume, &file), b"quiet");
    }
}

/// A header that is whole is believed without its copy, which may lie where the card has a bad block.
#[test]
fn the_copy_of_a_table_is_not_read_without_need() {
    let mut bytes = two_volumes();
    gpt_table(&mut bytes, N_BLOCKS, &PARTITIONS);
    let with_bad_end = |bytes: &[u8]| {
        let mut card = Card::new(Cursor::new(bytes.to_vec()));
        card.bad = N_BLOCKS - 1..N_BLOCKS;
        Volume::mount(card)
    };
    let volume = with_bad_end(&bytes).unwrap();
    assert!(!volume.device().reads.iter().any(|r| r.0 == N_BLOCKS - 1));
    // Where the header is damaged, the copy is looked for and cannot be read: what there is must do.
    bytes[HEADER][16] ^= 1;
    let volume = with_bad_end(&bytes).unwrap();
    assert!(volume.device().reads.iter().any(|r| r.0 == N_BLOCKS - 1));
    assert_eq!(volume.n_volumes(), 2);
}

/// A table without a FAT partition, in whatever state, is called what it is.
#[test]
fn a_table_without_fat_is_named() {
    let mut bytes = vec![0; MIB];
    let n_blocks = bytes.len() as u64 / 512;
    gpt_table(&mut bytes, n_blocks, &[(LINUX, 40)]);
    for damage in [None, Some(16), Some(0)] {
        let mut bytes = bytes.clone();
        if let Some(at) = damage {
            bytes[HEADER][at] ^= 1;
        }
        let error = Volume::mount(Card::new(Cursor::new(bytes))).err().unwrap();
        let message = error.to_string();
        assert!(message.contains("(GPT) has no FAT partition"), "{message}");
    }
}
