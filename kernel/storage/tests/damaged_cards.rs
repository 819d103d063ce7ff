//! Damaged cards: whatever the bytes say, there is an answer, never a panic or an endless walk.

mod images;

use std::io::Cursor;

use images::{Card, FAT16, FAT32, Format, pattern, ram_card, write, write_interleaved};
use storage::Volume;

/// xorshift64*, seeded: every failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }
}

/// A card whose blocks can be changed and changed back.
fn card(options: Format) -> Vec<u8> {
    let card = ram_card(48 << 20, options, |fs| {
        let bytes = pattern(1, 40_000);
        write_interleaved(
            fs,
            ["one.gguf", "two.gguf"],
            [&bytes, &bytes[..30_000]],
            512,
        );
        write(fs, "A long name that takes several entries.txt", b"text");
    });
    card.medium.into_inner()
}

/// Asks everything that can be asked of a card. True if it could be mounted.
fn exercise(bytes: &[u8]) -> bool {
    let mut volume = match Volume::mount(Card::new(Cursor::new(bytes))) {
        Ok(volume) => volume,
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains('\n') && line.len() > 20, "{line}");
            return false;
        }
    };
    let entries = volume.list().unwrap_or_default();
    volume.list_models().ok();
    for entry in entries.iter().take(8) {
        let Ok(file) = volume.open(&entry.name) else {
            continue;
        };
        let len = file.len_bytes().min(100_000) as usize;
        let mut buf = vec![0; len];
        volume.read_at(&file, 0, &mut buf).unwrap();
        let tail = len.min(700);
        let at = file.len_bytes() - tail as u64;
        volume.read_at(&file, at, &mut buf[..tail]).unwrap();
    }
    true
}

/// Changes a few bytes of the blocks `blocks`, `times` times; returns how many cards could be mounted.
fn mutate(options: Format, seed: u64, blocks: &[usize], times: usize) -> usize {
    let mut bytes = card(options);
    let mut random = Random(seed);
    let interesting = [0, 1, 2, 0x7F, 0x80, 0xE5, 0xF8, 0xFF];
    let mut n_mounted = 0;
    for _ in 0..times {
        let at: Vec<usize> = (0..1 + random.below(6))
            .map(|_| blocks[random.below(blocks.len())] * 512 + random.below(512))
            .collect();
        let saved: Vec<u8> = at.iter().map(|&i| bytes[i]).collect();
        for &i in &at {
            bytes[i] = match random.below(3) {
                0 => interesting[random.below(interesting.len())],
                1 => bytes[i] ^ 1 << random.below(8),
                _ => random.below(256) as u8,
            };
        }
        n_mounted += usize::from(exercise(&bytes));
        for (&i, &byte) in at.iter().zip(&saved).rev() {
            bytes[i] = byte;
        }
    }
    assert!(exercise(&bytes), "the card is whole again");
    n_mounted
}

/// A volume without a partition table: block 0 is its boot sector.
const FLAT_32: Format = Format {
    first_block: 0,
    ..FAT32
};
const FLAT_16: Format = Format {
    first_block: 0,
    ..FAT16
};

#[test]
fn partition_tables() {
    let first = FAT32.first_block as usize;
    assert!(mutate(FAT32, 1, &[0], 4000) > 1000);
    assert!(mutate(FAT32, 2, &[0, first], 3000) > 300);
}

#[test]
fn boot_sectors_of_fat32() {
    let n = mutate(FLAT_32, 3, &[0], 3000) + mutate(FLAT_32, 4, &[0, 1], 3000);
    assert!((600..5900).contains(&n), "{n}");
}

#[test]
fn boot_sectors_of_fat16() {
    let n = mutate(FLAT_16, 5, &[0], 3000);
    assert!((300..2900).contains(&n), "{n}");
}

#[test]
fn every_byte_of_the_parameter_block() {
    for options in [FLAT_32, FLAT_16] {
        let mut bytes = card(options);
        for at in (0..90).chain(440..512) {
            let saved = bytes[at];
            for value in 0..=255 {
                bytes[at] = value;
                exercise(&bytes);
            }
            bytes[at] = saved;
        }
        assert!(exercise(&bytes));
    }
}

#[test]
fn tables_and_directories() {
    let geometry = |options| {
        let bytes = card(options);
        let volume = Volume::mount(Card::new(Cursor::new(&bytes[..]))).unwrap();
        *volume.geometry()
    };
    for options in [FAT32, FAT16] {
        let boot = geometry(options);
        let table = boot.fat_first_block as usize;
        let root = match boot.root {
            storage::boot_sector::Root::Blocks { first, .. } => first as usize,
            storage::boot_sector::Root::Cluster(c) => boot.cluster_first_block(c) as usize,
        };
        assert_eq!(mutate(options, 6, &[table], 2000), 2000);
        assert_eq!(mutate(options, 7, &[root], 2000), 2000);
        assert_eq!(mutate(options, 8, &[table, root], 2000), 2000);
    }
}
