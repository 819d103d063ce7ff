//! Cards for tests: formatted and filled with the `fatfs` crate.
#![allow(dead_code)]

pub mod tables;

use std::fs::{File, OpenOptions};
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};
use fscommon::StreamSlice;
use storage::{BlockDevice, Volume};

pub const MIB: usize = 1 << 20;

/// First block of the partition, as on a Raspberry Pi's card.
pub const PARTITION: u64 = 8192;

/// A device over anything that seeks; counts its reads.
#[derive(Clone, Debug)]
pub struct Card<T> {
    pub medium: T,
    pub n_blocks: u64,
    /// First block and number of blocks of each read.
    pub reads: Vec<(u64, usize)>,
    /// Reads of these blocks fail.
    pub bad: std::ops::Range<u64>,
    pub alignment: usize,
    /// Callers' buffers are where a controller does not reach.
    pub out_of_reach: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub struct BadBlock(pub u64);

impl std::fmt::Display for BadBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "block {} is bad", self.0)
    }
}

impl std::error::Error for BadBlock {}

impl<T: Read + Seek> Card<T> {
    pub fn new(mut medium: T) -> Self {
        let n_blocks = medium.seek(SeekFrom::End(0)).unwrap() / 512;
        Self {
            medium,
            n_blocks,
            reads: Vec::new(),
            bad: 0..0,
            alignment: 1,
            out_of_reach: false,
        }
    }
}

impl<T: Read + Seek> BlockDevice for Card<T> {
    type Error = BadBlock;

    fn n_blocks(&self) -> u64 {
        self.n_blocks
    }

    fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), BadBlock> {
        let n = buf.len() / 512;
        assert!(n > 0 && buf.len().is_multiple_of(512), "whole blocks");
        assert!(first + n as u64 <= self.n_blocks, "reads beyond the card");
        // Single blocks may go anywhere.
        assert!(n == 1 || buf.as_ptr().align_offset(self.alignment) == 0);
        self.reads.push((first, n));
        if let Some(block) = (first..first + n as u64).find(|b| self.bad.contains(b)) {
            return Err(BadBlock(block));
        }
        self.medium.seek(SeekFrom::Start(first * 512)).unwrap();
        self.medium.read_exact(buf).unwrap();
        Ok(())
    }

    fn is_direct(&self, buf: &[u8]) -> bool {
        !self.out_of_reach && buf.as_ptr().align_offset(self.alignment) == 0
    }
}

/// How to format a card.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub fat_type: FatType,
    pub cluster_bytes: u32,
    /// First block of the volume; 0 makes a card without a partition table.
    pub first_block: u64,
}

pub const FAT32: Format = Format {
    fat_type: FatType::Fat32,
    cluster_bytes: 512,
    first_block: PARTITION,
};

pub const FAT16: Format = Format {
    fat_type: FatType::Fat16,
    cluster_bytes: 2048,
    first_block: PARTITION,
};

pub type Fs<'a, T> = FileSystem<StreamSlice<&'a mut T>>;

/// Formats a medium and fills the volume.
pub fn format<T: Read + Write + Seek>(
    medium: &mut T,
    format: Format,
    fill: impl FnOnce(&Fs<'_, T>),
) {
    let len = medium.seek(SeekFrom::End(0)).unwrap();
    let start = format.first_block * 512;
    if start > 0 {
        let mut mbr = [0u8; 512];
        let entry = &mut mbr[446..462];
        entry[4] = match format.fat_type {
            FatType::Fat32 => 0x0C,
            _ => 0x0E,
        };
        entry[8..12].copy_from_slice(&(format.first_block as u32).to_le_bytes());
        entry[12..16].copy_from_slice(&((len - start) as u32 / 512).to_le_bytes());
        mbr[510..].copy_from_slice(&[0x55, 0xAA]);
        medium.seek(SeekFrom::Start(0)).unwrap();
        medium.write_all(&mbr).unwrap();
    }
    let mut volume = StreamSlice::new(medium, start, len).unwrap();
    let options = FormatVolumeOptions::new()
        .fat_type(format.fat_type)
        .bytes_per_cluster(format.cluster_bytes)
        .volume_label(*b"PILM       ");
    fatfs::format_volume(&mut volume, options).unwrap();
    let fs = FileSystem::new(volume, FsOptions::new()).unwrap();
    fill(&fs);
    // Counts the free clusters, and so makes FSInfo true.
    fs.stats().unwrap();
    fs.unmount().unwrap();
}

/// A card in memory.
pub fn ram_card(
    len_bytes: usize,
    options: Format,
    fill: impl FnOnce(&Fs<'_, Cursor<Vec<u8>>>),
) -> Card<Cursor<Vec<u8>>> {
    let mut medium = Cursor::new(vec![0; len_bytes]);
    format(&mut medium, options, fill);
    Card::new(medium)
}

/// A card in a sparse file, removed when dropped.
pub struct SparseFile {
    pub file: File,
    path: PathBuf,
}

impl SparseFile {
    pub fn new(name: &str, len_bytes: u64) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        file.set_len(len_bytes).unwrap();
        Self { file, path }
    }
}

impl Drop for SparseFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

/// Bytes that differ from block to block.
pub fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Writes a file in one go.
pub fn write<T: Read + Write + Seek>(fs: &Fs<'_, T>, name: &str, bytes: &[u8]) {
    let mut file = fs.root_dir().create_file(name).unwrap();
    file.write_all(bytes).unwrap();
    file.flush().unwrap();
}

/// Writes two files cluster by cluster in turn, so that each is in as many pieces as it has clusters.
pub fn write_interleaved<T: Read + Write + Seek>(
    fs: &Fs<'_, T>,
    names: [&str; 2],
    contents: [&[u8]; 2],
    piece: usize,
) {
    let mut files = names.map(|name| fs.root_dir().create_file(name).unwrap());
    let mut pieces = contents.map(|bytes| bytes.chunks(piece));
    loop {
        let mut wrote = false;
        for (file, pieces) in files.iter_mut().zip(&mut pieces) {
            if let Some(bytes) = pieces.next() {
                file.write_all(bytes).unwrap();
                wrote = true;
            }
        }
        if !wrote {
            return;
        }
    }
}

/// The files' names.
pub fn names(entries: &[storage::Entry]) -> Vec<&str> {
    entries.iter().map(|e| e.name.as_str()).collect()
}

/// A whole file.
pub fn read_all<D: BlockDevice>(volume: &mut Volume<D>, file: &storage::File) -> Vec<u8> {
    let mut bytes = vec![0; file.len_bytes() as usize];
    volume.read_at(file, 0, &mut bytes).unwrap();
    bytes
}
