//! Where the volumes of a card are, by every kind of table that the board boots from.

mod images;

use std::io::Cursor;

use images::tables::{
    CARD_BYTES, FIRST, LINUX, N_BLOCKS, PARTITIONS, SECOND, gpt_table, mbr, seal, two_volumes,
};
use images::{Card, FAT32, Format, MIB, names, pattern, ram_card, read_all, write};
use storage::Volume;

const HEADER: std::ops::Range<usize> = 512..1024;

type Table = fn(&mut Vec<u8>);

/// What the board boots from, and what is left of it after an accident.
const TABLES: [(&str, Table); 18] = [
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
    ("one volume before it got its GPT", |bytes| {
        bytes.copy_within(MIB..MIB + 440, 0);
        gpt_table(bytes, N_BLOCKS, &PARTITIONS);
    }),
    ("one volume before it got its hybrid table", |bytes| {
        bytes.copy_within(MIB..MIB + 440, 0);
        gpt_table(bytes, N_BLOCKS, &PARTITIONS);
        mbr(bytes, &[(0xEE, 1), (0x0C, 100)]);
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
