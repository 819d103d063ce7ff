//! Seeds of the target `card`: small cards of every kind, formatted by another implementation.

use std::io::{Cursor, Write};

use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};
use fscommon::StreamSlice;
use storage::BLOCK_BYTES;

use crate::card::{N_BLOCKS, pack};

type Image = Cursor<Vec<u8>>;

fn formatted(fat_type: FatType, first_block: u64) -> Image {
    let mut image = Cursor::new(vec![0; N_BLOCKS as usize * BLOCK_BYTES]);
    let start = first_block * BLOCK_BYTES as u64;
    let end = N_BLOCKS * BLOCK_BYTES as u64;
    if first_block > 0 {
        table(&mut image, 0x0C, first_block as u32);
    }
    let mut volume = StreamSlice::new(&mut image, start, end).unwrap();
    let cluster_bytes = if fat_type == FatType::Fat32 {
        512
    } else {
        4096
    };
    let options = FormatVolumeOptions::new()
        .fat_type(fat_type)
        .bytes_per_cluster(cluster_bytes)
        .volume_id(0x5049_4C4D);
    fatfs::format_volume(&mut volume, options).unwrap();
    let fs = FileSystem::new(volume, FsOptions::new()).unwrap();
    let root = fs.root_dir();
    let mut one = root.create_file("A model of some size.Q8_0.gguf").unwrap();
    let mut two = root.create_file("pilm.txt").unwrap();
    for i in 0..3 {
        one.write_all(&[b'1'; 600]).unwrap();
        two.write_all(&[b'a' + i; 300]).unwrap();
    }
    drop((one, two));
    root.create_dir("overlays").unwrap();
    drop(root);
    fs.stats().unwrap();
    fs.unmount().unwrap();
    image
}

/// Writes a partition table with one partition.
fn table(image: &mut Image, partition_type: u8, first_block: u32) {
    let sector = &mut image.get_mut()[..BLOCK_BYTES];
    sector[446 + 4] = partition_type;
    sector[446 + 8..446 + 12].copy_from_slice(&first_block.to_le_bytes());
    sector[446 + 12..446 + 16].copy_from_slice(&1000u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
}

/// A card with a partition of `partition_type` whose boot sector has `oem` for a name.
fn other(partition_type: u8, oem: &[u8; 8]) -> Image {
    let mut image = Cursor::new(vec![0; 64 * BLOCK_BYTES]);
    table(&mut image, partition_type, 8);
    image.get_mut()[8 * BLOCK_BYTES + 3..][..8].copy_from_slice(oem);
    image
}

/// The seeds, by name.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let cards = [
        ("fat32", formatted(FatType::Fat32, 64)),
        ("fat16", formatted(FatType::Fat16, 64)),
        ("fat32-no-table", formatted(FatType::Fat32, 0)),
        ("fat16-no-table", formatted(FatType::Fat16, 0)),
        ("exfat", other(0x07, b"EXFAT   ")),
        ("ntfs", other(0x07, b"NTFS    ")),
        ("gpt", other(0xEE, b"        ")),
        ("not-formatted", other(0x0C, b"        ")),
    ];
    cards
        .map(|(name, image)| (name, pack(image.get_ref())))
        .into()
}
