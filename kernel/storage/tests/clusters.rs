//! Clusters of every size that a card may have, in both file allocation tables.

mod images;

use images::write_interleaved;
use images::{Card, Format, MIB, SparseFile, format, names, pattern, read_all, write};
use storage::boot_sector::FatType;
use storage::{BlockDevice, Volume};

/// The fewest clusters of FAT32, and a FAT16 of as few, with what the tables themselves take.
const FAT32_CLUSTERS: u64 = 65_525 + 1_100;
const FAT16_CLUSTERS: u64 = 4_085 + 300;

/// A volume of the fewest clusters of `cluster_blocks` sectors, with files whole and in pieces.
fn check(fat_type: fatfs::FatType, cluster_blocks: u32) {
    let (n_clusters, expected) = match fat_type {
        fatfs::FatType::Fat32 => (FAT32_CLUSTERS, FatType::Fat32),
        _ => (FAT16_CLUSTERS, FatType::Fat16),
    };
    let cluster_bytes = 512 * cluster_blocks;
    let options = Format {
        fat_type,
        cluster_bytes,
        first_block: 2048,
    };
    let what = format!("{fat_type:?} with {cluster_blocks} sectors per cluster");
    let len_bytes = MIB as u64 + 512 * 1024 + n_clusters * u64::from(cluster_bytes);
    let name = format!("clusters-{fat_type:?}-{cluster_blocks}.img");
    let mut sparse = SparseFile::new(&name, len_bytes);
    let cluster = cluster_bytes as usize;
    // Ends within a cluster, at its end, and one byte behind.
    let whole = pattern(1, MIB + 777);
    let pieces = [pattern(2, 9 * cluster), pattern(3, 7 * cluster + 1)];
    format(&mut sparse.file, options, |fs| {
        write(fs, "whole.gguf", &whole);
        let slices = [&pieces[0][..], &pieces[1][..]];
        write_interleaved(fs, ["nine.gguf", "eight.gguf"], slices, cluster);
    });
    let mut volume = Volume::mount(Card::new(&sparse.file)).expect(&what);
    let geometry = *volume.geometry();
    assert_eq!(geometry.fat_type, expected, "{what}");
    assert_eq!(geometry.cluster_bytes(), u64::from(cluster_bytes), "{what}");
    let models = volume.list_models().unwrap();
    assert_eq!(names(&models), ["eight.gguf", "nine.gguf", "whole.gguf"]);
    for (name, bytes, n_pieces) in [
        ("whole.gguf", &whole, 1),
        ("nine.gguf", &pieces[0], 9),
        ("eight.gguf", &pieces[1], 8),
    ] {
        let file = volume.open(name).unwrap();
        // The last pieces of both files may be neighbours.
        assert!(
            (n_pieces - 1..=n_pieces).contains(&file.n_pieces()),
            "{what}"
        );
        assert!(read_all(&mut volume, &file) == *bytes, "{what}: {name}");
        let mut tail = [0; 100];
        let offset = bytes.len() as u64 - 100;
        volume.read_at(&file, offset, &mut tail).unwrap();
        assert_eq!(tail, bytes[bytes.len() - 100..], "{what}: {name}");
    }
    assert!(volume.device().n_blocks() > n_clusters * u64::from(cluster_blocks));
}

#[test]
fn fat16_with_clusters_of_1_to_128_sectors() {
    for shift in 0..8 {
        check(fatfs::FatType::Fat16, 1 << shift);
    }
}

#[test]
fn fat32_with_clusters_of_1_to_128_sectors() {
    for shift in 0..8 {
        check(fatfs::FatType::Fat32, 1 << shift);
    }
}
