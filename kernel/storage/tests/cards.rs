//! Whole cards, formatted by another implementation: mounted, listed, read.

mod images;

use std::io::{Cursor, Seek, SeekFrom, Write};

use images::{
    Card, FAT16, FAT32, Format, SparseFile, format, pattern, ram_card, write, write_interleaved,
};
use storage::boot_sector::FatType;
use storage::{BlockDevice, File, Volume};

const MIB: usize = 1 << 20;

fn names(entries: &[storage::Entry]) -> Vec<&str> {
    entries.iter().map(|e| e.name.as_str()).collect()
}

fn read_all<D: BlockDevice>(volume: &mut Volume<D>, file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.len_bytes() as usize];
    volume.read_at(file, 0, &mut bytes).unwrap();
    bytes
}

#[test]
fn files_of_every_format_come_back() {
    let model = pattern(1, 3 * MIB + 777);
    for options in [
        FAT32,
        FAT16,
        Format {
            first_block: 0,
            ..FAT32
        },
        Format {
            first_block: 0,
            ..FAT16
        },
        Format {
            first_block: 63,
            cluster_bytes: 4096,
            ..FAT16
        },
    ] {
        let card = ram_card(64 * MIB, options, |fs| {
            write(fs, "SmolLM2-135M-Instruct.Q8_0.gguf", &model);
            write(fs, "pilm.txt", b"model = smollm2\n");
            write(fs, "empty.gguf", b"");
        });
        let mut volume = Volume::mount(card).unwrap();
        let expected = match options.fat_type {
            fatfs::FatType::Fat32 => FatType::Fat32,
            _ => FatType::Fat16,
        };
        assert_eq!(volume.geometry().fat_type, expected);
        assert!(volume.was_ejected_cleanly());
        let models = volume.list_models().unwrap();
        assert_eq!(
            names(&models),
            ["SmolLM2-135M-Instruct.Q8_0.gguf", "empty.gguf"]
        );
        let file = volume.open("smollm2-135m-instruct.q8_0.GGUF").unwrap();
        assert_eq!(file.name(), "SmolLM2-135M-Instruct.Q8_0.gguf");
        assert_eq!(file.n_pieces(), 1);
        assert!(read_all(&mut volume, &file) == model);
        let file = volume.open("PILM.TXT").unwrap();
        assert_eq!(read_all(&mut volume, &file), b"model = smollm2\n");
        let file = volume.open("empty.gguf").unwrap();
        assert_eq!(file.len_bytes(), 0);
        volume.read_at(&file, 0, &mut []).unwrap();
    }
}

#[test]
fn any_piece_of_a_file_can_be_read() {
    let bytes = pattern(2, 2 * MIB + 100);
    for alignment in [1, 64] {
        let mut card = ram_card(64 * MIB, FAT32, |fs| write(fs, "a.gguf", &bytes));
        card.alignment = alignment;
        let mut volume = Volume::mount(card).unwrap();
        let file = volume.open("a.gguf").unwrap();
        let mut memory = vec![0; bytes.len() + 64];
        let mut at = 1;
        for len in [1, 511, 512, 513, 4096, 65_536, MIB, MIB + 513, 2 * MIB] {
            for misalignment in [0, 1, 64] {
                for offset in [
                    0,
                    512.min(bytes.len() - len),
                    at % (bytes.len() - len),
                    bytes.len() - len,
                ] {
                    let buf = &mut memory[misalignment..][..len];
                    volume.read_at(&file, offset as u64, buf).unwrap();
                    assert!(buf == &bytes[offset..offset + len], "{len} at {offset}");
                    at = (at * 31 + 7) % 1_000_003;
                }
            }
        }
    }
}

#[test]
fn large_reads_are_few_and_straight() {
    let bytes = pattern(3, 24 * MIB);
    let card = ram_card(64 * MIB, FAT16, |fs| write(fs, "a.gguf", &bytes));
    let mut volume = Volume::mount(card).unwrap();
    let file = volume.open("a.gguf").unwrap();
    let before = volume.device().reads.len();
    let mut buf = vec![0; 8 * MIB];
    for part in 0..3 {
        volume
            .read_at(&file, (part * buf.len()) as u64, &mut buf)
            .unwrap();
        assert!(buf == bytes[part * buf.len()..][..buf.len()]);
    }
    let lengths: Vec<usize> = volume.device().reads[before..]
        .iter()
        .map(|r| r.1)
        .collect();
    assert_eq!(lengths, [8 * MIB / 512; 3]);

    // Small steps grow the window to 1 MiB: 4 KiB, 8, 16, ... 1 MiB, then 1 MiB each.
    let before = volume.device().reads.len();
    let mut buf = vec![0; 10_000];
    for (part, expected) in bytes.chunks(10_000).enumerate() {
        let buf = &mut buf[..expected.len()];
        volume.read_at(&file, part as u64 * 10_000, buf).unwrap();
        assert!(buf == expected);
    }
    let reads = &volume.device().reads[before..];
    assert_eq!(reads.iter().map(|r| r.1).sum::<usize>(), 24 * MIB / 512);
    assert_eq!(reads.iter().filter(|r| r.1 == MIB / 512).count(), 23);
}

/// The block of a loader's first tensor, within what was read for the header.
const FIRST_TENSOR: usize = 1_499_136;

/// What a loader asks for: the header in growing pieces, then 2 MiB at a time.
fn load(volume: &mut Volume<Card<Cursor<Vec<u8>>>>, bytes: &[u8]) -> Vec<(u64, usize)> {
    let file = volume.open("a.gguf").unwrap();
    let before = volume.device().reads.len();
    let mut memory = vec![0; 2 * MIB + 64];
    let start = memory.as_ptr().align_offset(64);
    let memory = &mut memory[start..];
    let mut read = |at: usize, n: usize| {
        let buf = &mut memory[..n.min(bytes.len() - at)];
        volume.read_at(&file, at as u64, buf).unwrap();
        assert!(buf == &bytes[at..][..buf.len()]);
    };
    for (at, n) in [
        (0, MIB / 4),
        (MIB / 4, MIB / 4),
        (MIB / 2, MIB / 2),
        (MIB, MIB),
    ] {
        read(at, n);
    }
    for at in (FIRST_TENSOR..bytes.len()).step_by(2 * MIB) {
        read(at, 2 * MIB);
    }
    volume.device().reads[before..].to_vec()
}

#[test]
fn a_loader_reads_a_mebibyte_per_command() {
    let bytes = pattern(10, 40 * MIB + 12_345);
    for out_of_reach in [false, true] {
        let mut card = ram_card(64 * MIB, FAT16, |fs| write(fs, "a.gguf", &bytes));
        (card.alignment, card.out_of_reach) = (64, out_of_reach);
        let mut volume = Volume::mount(card).unwrap();
        let reads = load(&mut volume, &bytes);
        let blocks: usize = reads.iter().map(|r| r.1).sum();
        assert!(blocks * 512 <= bytes.len() + 2 * MIB, "{reads:?}");
        // The last command is what is left.
        let (_, others) = reads.split_last().unwrap();
        assert!(others.iter().all(|r| r.1 >= MIB / 512), "{reads:?}");
    }
}

/// A loader needs one command for each piece of a file, or more for those above a mebibyte.
#[test]
fn a_piece_of_a_fragmented_file_is_one_command() {
    let bytes = pattern(11, 12 * MIB + 777);
    for piece in [100 << 10, 600 << 10, 1_300 << 10, 3 * MIB + 512] {
        for out_of_reach in [false, true] {
            let mut card = ram_card(64 * MIB, FAT32, |fs| {
                let slices = [&bytes[..], &bytes[..]];
                write_interleaved(fs, ["a.gguf", "b.gguf"], slices, piece);
            });
            (card.alignment, card.out_of_reach) = (64, out_of_reach);
            let mut volume = Volume::mount(card).unwrap();
            let n_pieces = volume.open("a.gguf").unwrap().n_pieces();
            assert_eq!(n_pieces, bytes.len().div_ceil(piece));
            let reads = load(&mut volume, &bytes);
            let short = reads.iter().filter(|r| r.1 < MIB / 512).count();
            // What was read with the header is read once more.
            let again = (2 * MIB - FIRST_TENSOR).div_ceil(piece) + 1;
            assert!(
                short <= n_pieces + again,
                "{piece} bytes a piece: {reads:?}"
            );
            let blocks: usize = reads.iter().map(|r| r.1).sum();
            assert!(blocks * 512 <= bytes.len() + 3 * MIB, "{reads:?}");
        }
    }
}

#[test]
fn fragmented_files_come_back() {
    let contents = [pattern(4, 3 * MIB + 5), pattern(5, 2 * MIB)];
    let card = ram_card(64 * MIB, FAT32, |fs| {
        let slices = [&contents[0][..], &contents[1][..]];
        write_interleaved(fs, ["one.gguf", "two.gguf"], slices, 512);
    });
    let mut volume = Volume::mount(card).unwrap();
    for (name, bytes) in ["one.gguf", "two.gguf"].iter().zip(&contents) {
        let file = volume.open(name).unwrap();
        assert!(file.n_pieces() >= 4096, "{}", file.n_pieces());
        assert!(&read_all(&mut volume, &file) == bytes);
        let mut buf = vec![0; 700_001];
        volume.read_at(&file, 123_457, &mut buf).unwrap();
        assert!(buf == bytes[123_457..][..buf.len()]);
    }
}

#[test]
fn a_card_of_four_gibibytes() {
    let mut sparse = SparseFile::new("four-gib.img", 4 << 30);
    let model = pattern(6, 9 * MIB);
    let options = Format {
        cluster_bytes: 32_768,
        ..FAT32
    };
    format(&mut sparse.file, options, |fs| {
        write(fs, "first.gguf", &pattern(7, MIB));
        write(fs, "model.gguf", &model);
    });
    let mut volume = Volume::mount(Card::new(&sparse.file)).unwrap();
    assert_eq!(volume.device().n_blocks(), 1 << 23);
    assert!(volume.free_bytes().unwrap() > 4_000_000_000);
    let file = volume.open("model.gguf").unwrap();
    assert!(read_all(&mut volume, &file) == model);
}

#[test]
fn the_longest_file_that_fat_has() {
    // The chain of 4 GiB - 1 bytes in clusters of 64 KiB, written by hand: cluster 3 to the end.
    let mut sparse = SparseFile::new("longest.img", 8 << 30);
    let options = Format {
        cluster_bytes: 65_536,
        ..FAT32
    };
    format(&mut sparse.file, options, |fs| {
        write(fs, "big.gguf", b"start")
    });
    let mut volume = Volume::mount(Card::new(&sparse.file)).unwrap();
    let first = volume.open("big.gguf").unwrap();
    assert_eq!(first.len_bytes(), 5);
    let geometry = *volume.geometry();
    drop(volume);

    let root = geometry.cluster_first_block(2) * 512;
    let mut directory = [0; 512];
    let mut card = Card::new(&sparse.file);
    card.read_blocks(root / 512, &mut directory).unwrap();
    let at = directory
        .chunks(32)
        .position(|e| e.starts_with(b"BIG"))
        .unwrap()
        * 32;
    let cluster = u16::from_le_bytes([directory[at + 26], directory[at + 27]]);
    directory[at + 28..at + 32].fill(0xFF);
    let n_clusters = 65_536u32;
    let mut chain: Vec<u8> = (1..n_clusters)
        .flat_map(|i| (u32::from(cluster) + i).to_le_bytes())
        .collect();
    chain.extend(0x0FFF_FFFFu32.to_le_bytes());
    let mut put = |at: u64, bytes: &[u8]| {
        sparse.file.seek(SeekFrom::Start(at)).unwrap();
        sparse.file.write_all(bytes).unwrap();
    };
    put(root, &directory);
    put(
        geometry.fat_first_block * 512 + u64::from(cluster) * 4,
        &chain,
    );
    let start = geometry.cluster_first_block(cluster.into()) * 512;
    put(start + 0xFFFF_FFF0, b"the last bytes!");

    let mut volume = Volume::mount(Card::new(&sparse.file)).unwrap();
    let file = volume.open("big.gguf").unwrap();
    assert_eq!((file.len_bytes(), file.n_pieces()), (0xFFFF_FFFF, 1));
    let mut tail = [0; 15];
    volume.read_at(&file, 0xFFFF_FFF0, &mut tail).unwrap();
    assert_eq!(&tail, b"the last bytes!");
    let error = volume.read_at(&file, 0xFFFF_FFF1, &mut tail).unwrap_err();
    assert_eq!(
        error.to_string(),
        "big.gguf ends at byte 4294967295 but bytes 4294967281 to 4294967296 are needed: copy it again"
    );
}

#[test]
fn a_crowded_root_directory() {
    let name = |i: usize| format!("A rather long name of a file, number {i:04}.txt");
    let card = ram_card(64 * MIB, FAT32, |fs| {
        fs.root_dir().create_dir("overlays").unwrap();
        for i in 0..600 {
            write(fs, &name(i), name(i).as_bytes());
        }
        write(fs, "модель 模型.GGUF", b"last");
        write(fs, "._model.gguf", b"what macOS leaves");
        write(fs, "gguf", b"");
        write(fs, ".gguf", b"hidden, but a model");
    });
    let mut volume = Volume::mount(card).unwrap();
    assert_eq!(volume.list().unwrap().len(), 604);
    let models = volume.list_models().unwrap();
    assert_eq!(names(&models), [".gguf", "модель 模型.GGUF"]);
    for i in [0, 1, 299, 599] {
        let file = volume.open(&name(i).to_uppercase()).unwrap();
        assert_eq!(read_all(&mut volume, &file), name(i).as_bytes());
    }
    let missing = volume.open("overlays").unwrap_err();
    assert_eq!(
        missing.to_string(),
        "no file \"overlays\" in the card's root directory: see the names with /models"
    );
}

/// A card with two volumes, found by `table`, which writes sector 0 and what else it needs.
fn two_volumes(table: impl FnOnce(&mut [u8])) -> Card<Cursor<Vec<u8>>> {
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
    bytes.resize(82 * MIB, 0);
    table(&mut bytes);
    Card::new(Cursor::new(bytes))
}

const FIRST: u64 = MIB as u64 / 512;
const SECOND: u64 = 41 * MIB as u64 / 512;

fn check_two_volumes(card: Card<Cursor<Vec<u8>>>) {
    let mut volume = Volume::mount(card).unwrap();
    assert_eq!(volume.n_volumes(), 2);
    let models = volume.list_models().unwrap();
    let expected = ["both.gguf", "first.gguf", "second.gguf"];
    assert_eq!(names(&models), expected);
    for (name, seed, len) in [
        ("second.gguf", 2, MIB),
        ("first.gguf", 1, MIB),
        ("both.gguf", 1, 1000),
    ] {
        let file = volume.open(name).unwrap();
        assert!(read_all(&mut volume, &file) == pattern(seed, len), "{name}");
    }
}

#[test]
fn every_volume_of_a_partition_table_is_searched() {
    let table = |types: [u8; 2]| {
        move |bytes: &mut [u8]| {
            for (i, first) in [FIRST, SECOND].into_iter().enumerate() {
                let entry = &mut bytes[446 + 16 * i..][..16];
                entry[4] = types[i];
                entry[8..12].copy_from_slice(&(first as u32).to_le_bytes());
                entry[12..16].copy_from_slice(&81_920_u32.to_le_bytes());
            }
            bytes[510..512].copy_from_slice(&[0x55, 0xAA]);
        }
    };
    check_two_volumes(two_volumes(table([0x0C, 0x0C])));
    check_two_volumes(two_volumes(table([0xEF, 0x1C])));
    // The card was one volume before it got its table.
    check_two_volumes(two_volumes(|bytes| {
        bytes.copy_within(MIB..MIB + 440, 0);
        table([0x0C, 0x0C])(bytes);
    }));
}

#[test]
fn every_volume_of_a_guid_partition_table_is_searched() {
    check_two_volumes(two_volumes(|bytes| {
        bytes[446 + 4] = 0xEE;
        bytes[446 + 8] = 1;
        bytes[510..512].copy_from_slice(&[0x55, 0xAA]);
        bytes[512..520].copy_from_slice(b"EFI PART");
        bytes[512 + 72] = 2;
        bytes[512 + 80] = 128;
        bytes[512 + 84] = 128;
        let efi = 0xC12A_7328_u32.to_le_bytes();
        let efi = [
            &efi[..],
            &[
                0x1F, 0xF8, 0xD2, 0x11, 0xBA, 0x4B, 0x00, 0xA0, 0xC9, 0x3E, 0xC9, 0x3B,
            ],
        ];
        let data = 0xEBD0_A0A2_u32.to_le_bytes();
        let data = [
            &data[..],
            &[
                0xE5, 0xB9, 0x33, 0x44, 0x87, 0xC0, 0x68, 0xB6, 0xB7, 0x26, 0x99, 0xC7,
            ],
        ];
        for (i, (kind, first)) in [(efi, FIRST), (data, SECOND)].into_iter().enumerate() {
            // The second one in another block of entries.
            let entry = &mut bytes[1024 + 5 * 128 * i..][..128];
            entry[..16].copy_from_slice(&kind.concat());
            entry[32..40].copy_from_slice(&first.to_le_bytes());
        }
    }));
}

#[test]
fn the_second_partition_is_tried_too() {
    let card = ram_card(64 * MIB, FAT32, |fs| write(fs, "a.gguf", b"x"));
    let mut bytes = card.medium.into_inner();
    bytes.copy_within(446..462, 462);
    // A first partition of a FAT type that was never formatted.
    bytes[446 + 8..446 + 12].copy_from_slice(&100u32.to_le_bytes());
    let mut volume = Volume::mount(Card::new(Cursor::new(bytes))).unwrap();
    assert_eq!(names(&volume.list_models().unwrap()), ["a.gguf"]);
}
