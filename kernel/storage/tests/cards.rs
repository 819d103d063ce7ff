//! Whole cards, formatted by another implementation: mounted, listed, read.

mod images;

use std::io::{Seek, SeekFrom, Write};

use images::{
    Card, FAT16, FAT32, Format, MIB, SparseFile, format, names, pattern, ram_card, read_all, write,
    write_interleaved,
};
use storage::boot_sector::FatType;
use storage::{BlockDevice, Volume};

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
