//! How a file is read: any piece of it, and by how many commands of the card.

mod images;

use std::io::Cursor;

use images::{Card, FAT16, FAT32, MIB, pattern, ram_card, write, write_interleaved};
use storage::Volume;

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
