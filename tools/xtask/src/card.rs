//! An SD-card image: MBR, one FAT32 partition, files.
//!
//! ```text
//!   sector 0      MBR: one partition, type 0x0C (FAT32, LBA)
//!   sector 2048   FAT32 up to the end of the card (1 MiB: the usual alignment of flash)
//! ```
//!
//! The same files give the same bytes: serial numbers and time stamps are fixed. The image
//! is sparse: a 4 GiB card takes the room of its files. QEMU wants a power of two as its size.

use anyhow::{Context, Result, ensure};
use fatfs::{Date, DateTime, FatType, FileSystem, FormatVolumeOptions, FsOptions, Time};
use fscommon::{BufStream, StreamSlice};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes per sector.
pub const SECTOR: u64 = 512;
/// First sector of the partition.
pub const PARTITION_START: u64 = 2048;
/// FAT32 has at least 65 525 clusters: no smaller card can hold one of 512-byte clusters.
pub const MIN_BYTES: u64 = 64 << 20;

/// "PILM", as the disk's and the volume's serial number: any constant, so that images are reproducible.
const SERIAL: u32 = u32::from_be_bytes(*b"PILM");
/// Fewest clusters of a FAT32 volume, plus what the tables themselves may take away.
const MIN_CLUSTERS: u64 = 65_525 + 1_024;
/// Copying chunk.
const CHUNK: usize = 1 << 20;

/// A file for the root folder of the card.
#[derive(Clone, Debug)]
pub struct CardFile {
    /// Name in the root folder, long names allowed; `folder/name` for a file in a folder.
    pub name: String,
    /// What is in it.
    pub contents: Contents,
}

/// The first moment that FAT knows, for every time stamp.
#[derive(Debug)]
struct Epoch;

impl fatfs::TimeProvider for Epoch {
    fn get_current_date(&self) -> Date {
        self.get_current_date_time().date
    }

    fn get_current_date_time(&self) -> DateTime {
        DateTime {
            date: Date {
                year: 1980,
                month: 1,
                day: 1,
            },
            time: Time {
                hour: 0,
                min: 0,
                sec: 0,
                millis: 0,
            },
        }
    }
}

/// Where a file's bytes come from.
#[derive(Clone, Debug)]
pub enum Contents {
    /// From memory.
    Bytes(Vec<u8>),
    /// Copied from a file of the host.
    Path(PathBuf),
}

impl CardFile {
    /// A file from memory.
    pub fn bytes(name: &str, bytes: impl Into<Vec<u8>>) -> CardFile {
        CardFile {
            name: name.to_owned(),
            contents: Contents::Bytes(bytes.into()),
        }
    }

    /// A copy of a file of the host.
    pub fn path(name: &str, path: impl Into<PathBuf>) -> CardFile {
        CardFile {
            name: name.to_owned(),
            contents: Contents::Path(path.into()),
        }
    }

    /// Its length.
    ///
    /// # Errors
    /// It is a file of the host and cannot be read, or is no file but a folder.
    pub fn len_bytes(&self) -> Result<u64> {
        match &self.contents {
            Contents::Bytes(bytes) => Ok(bytes.len() as u64),
            Contents::Path(path) => {
                let name = path.display();
                let metadata = path.metadata();
                let metadata = metadata.with_context(|| format!("reading {name}"))?;
                ensure!(metadata.is_file(), "{name} is not a file");
                Ok(metadata.len())
            }
        }
    }

    /// Its bytes, from the start.
    ///
    /// # Errors
    /// It is a file of the host and cannot be read.
    pub fn open(&self) -> Result<Box<dyn Read + '_>> {
        match &self.contents {
            Contents::Bytes(bytes) => Ok(Box::new(bytes.as_slice())),
            Contents::Path(path) => {
                let file =
                    File::open(path).with_context(|| format!("reading {}", path.display()))?;
                Ok(Box::new(file))
            }
        }
    }
}

/// Total bytes of `files`.
///
/// # Errors
/// A file of the host cannot be read.
pub fn total_bytes(files: &[CardFile]) -> Result<u64> {
    files.iter().map(CardFile::len_bytes).sum()
}

/// The smallest card for `files`: a power of two with room for the file system's own tables.
///
/// # Errors
/// A file of the host cannot be read.
pub fn fitting_size(files: &[CardFile]) -> Result<u64> {
    let wanted = total_bytes(files)?;
    // tables, and the unused end of each file's last cluster
    let overhead = wanted / 32 + (2 << 20) + PARTITION_START * SECTOR;
    Ok((wanted + overhead).next_power_of_two().max(MIN_BYTES))
}

/// Checks that a card of `size_bytes` is possible and has room for `files`.
///
/// # Errors
/// The size is not a power of two, below [`MIN_BYTES`] or too large for FAT32, or the files do not fit.
pub fn check_size(size_bytes: u64, files: &[CardFile]) -> Result<()> {
    ensure!(
        size_bytes.is_power_of_two() && size_bytes >= MIN_BYTES,
        "a card of {size_bytes} bytes is not possible: the size must be a power of two from {MIN_BYTES} up"
    );
    ensure!(
        total_sectors(size_bytes).is_some(),
        "FAT32 cannot describe a card of {size_bytes} bytes"
    );
    let needed = fitting_size(files)?;
    ensure!(
        needed <= size_bytes,
        "the files do not fit on a card of {size_bytes} bytes: take one of {needed}"
    );
    Ok(())
}

/// Sectors of the partition.
fn total_sectors(size_bytes: u64) -> Option<u32> {
    u32::try_from(size_bytes / SECTOR - PARTITION_START).ok()
}

/// Writes the image of a card of `size_bytes` with `files` to `path`; `progress` gets the bytes of each piece copied.
///
/// # Errors
/// Those of [`check_size`], or the host's disk fails.
pub fn write(
    path: &Path,
    size_bytes: u64,
    files: &[CardFile],
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    check_size(size_bytes, files)?;
    let mut image = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .with_context(|| format!("writing {}", path.display()))?;
    image.set_len(size_bytes)?;
    image.write_all(&master_boot_record(size_bytes))?;
    format(&image, size_bytes)?;

    let options = FsOptions::new().time_provider(&Epoch);
    let volume = FileSystem::new(partition(&image, size_bytes)?, options)?;
    let root = volume.root_dir();
    for file in files {
        copy(file, &root, progress)
            .with_context(|| format!("writing {} to the card", file.name))?;
    }
    drop(root);
    // counts the free clusters, which unmounting then writes to the FSInfo sector
    volume.stats()?;
    volume.unmount()?;
    set_hidden_sectors(&image)?;
    Ok(())
}

fn copy(
    file: &CardFile,
    root: &fatfs::Dir<'_, BufStream<StreamSlice<&File>>>,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut from = file.open()?;
    if let Some((folder, _)) = file.name.rsplit_once('/') {
        root.create_dir(folder)?;
    }
    let mut to = root.create_file(&file.name)?;
    let mut chunk = vec![0; CHUNK];
    while let n @ 1.. = from.read(&mut chunk)? {
        to.write_all(&chunk[..n])?;
        progress(n as u64);
    }
    to.flush()?;
    Ok(())
}

fn partition(image: &File, size_bytes: u64) -> Result<BufStream<StreamSlice<&File>>> {
    let slice = StreamSlice::new(image, PARTITION_START * SECTOR, size_bytes)?;
    Ok(BufStream::new(slice))
}

fn format(image: &File, size_bytes: u64) -> Result<()> {
    let sectors = total_sectors(size_bytes).context("the size has been checked")?;
    let options = FormatVolumeOptions::new()
        .fat_type(FatType::Fat32)
        .bytes_per_cluster(cluster_bytes(sectors.into()))
        .total_sectors(sectors)
        .volume_id(SERIAL)
        .volume_label(*b"PILM       ");
    fatfs::format_volume(partition(image, size_bytes)?, options)?;
    Ok(())
}

/// The largest cluster that leaves enough of them to be FAT32: short chains are quick to walk.
fn cluster_bytes(sectors: u64) -> u32 {
    let mut sectors_per_cluster = 64;
    while sectors_per_cluster > 1 && sectors / sectors_per_cluster < MIN_CLUSTERS {
        sectors_per_cluster /= 2;
    }
    (sectors_per_cluster * SECTOR) as u32
}

/// The partition's offset in the BPB of the boot sector and of its copy in sector 6, which the formatter leaves zero.
fn set_hidden_sectors(mut image: &File) -> Result<()> {
    const HIDDEN_SECTORS: u64 = 0x1C;
    for boot_sector in [0, 6] {
        let at = (PARTITION_START + boot_sector) * SECTOR + HIDDEN_SECTORS;
        image.seek(SeekFrom::Start(at))?;
        image.write_all(&(PARTITION_START as u32).to_le_bytes())?;
    }
    image.flush()?;
    Ok(())
}

fn master_boot_record(size_bytes: u64) -> [u8; SECTOR as usize] {
    let mut mbr = [0; SECTOR as usize];
    mbr[440..444].copy_from_slice(&SERIAL.to_le_bytes());
    let entry = &mut mbr[446..462];
    // cylinder-head-sector addresses that say "see the LBA fields"
    entry[1..4].copy_from_slice(&[0xFE, 0xFF, 0xFF]);
    entry[4] = 0x0C;
    entry[5..8].copy_from_slice(&[0xFE, 0xFF, 0xFF]);
    entry[8..12].copy_from_slice(&(PARTITION_START as u32).to_le_bytes());
    let sectors = size_bytes / SECTOR - PARTITION_START;
    entry[12..16].copy_from_slice(&(sectors as u32).to_le_bytes());
    mbr[510..].copy_from_slice(&[0x55, 0xAA]);
    mbr
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn scratch(name: &str) -> PathBuf {
        let dir = crate::workspace::output_dir().join("card-tests");
        fs::create_dir_all(&dir).unwrap();
        dir.join(name)
    }

    fn read_back(path: &Path, size: u64, name: &str) -> Vec<u8> {
        let image = File::options().read(true).write(true).open(path).unwrap();
        let slice = partition(&image, size).unwrap();
        let volume = FileSystem::new(slice, FsOptions::new()).unwrap();
        assert_eq!(volume.fat_type(), FatType::Fat32);
        let mut bytes = Vec::new();
        volume
            .root_dir()
            .open_file(name)
            .unwrap()
            .read_to_end(&mut bytes)
            .unwrap();
        bytes
    }

    #[test]
    fn files_come_back_and_the_same_files_give_the_same_card() {
        let big: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
        let files = [
            CardFile::bytes("kernel8.img", *b"kernel"),
            CardFile::bytes("overlays/disable-bt.dtbo", *b"overlay"),
            CardFile::bytes("A long model name.Q8_0.gguf", big.clone()),
        ];
        let (a, b) = (scratch("a.img"), scratch("b.img"));
        let mut copied = 0;
        write(&a, MIN_BYTES, &files, &mut |n| copied += n).unwrap();
        write(&b, MIN_BYTES, &files, &mut |_| {}).unwrap();
        assert_eq!(copied, 1_200_013);
        assert_eq!(
            read_back(&a, MIN_BYTES, "overlays/disable-bt.dtbo"),
            b"overlay"
        );
        assert_eq!(read_back(&a, MIN_BYTES, "KERNEL8.IMG"), b"kernel");
        assert_eq!(read_back(&a, MIN_BYTES, "A long model name.Q8_0.gguf"), big);
        assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap());
    }

    #[test]
    fn partition_entry_and_boot_sector_agree() {
        let path = scratch("mbr.img");
        write(&path, 2 * MIN_BYTES, &[], &mut |_| {}).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes[450], 0x0C);
        assert_eq!(bytes[510..512], [0x55, 0xAA]);
        let boot = &bytes[(PARTITION_START * SECTOR) as usize..][..512];
        assert_eq!(boot[0x1C..0x20], bytes[454..458]);
        assert_eq!(boot[0x20..0x24], bytes[458..462]);
        assert_eq!(boot[510..512], [0x55, 0xAA]);
    }

    #[test]
    fn a_card_of_4_gib_is_sparse() {
        use std::os::unix::fs::MetadataExt;
        let path = scratch("4gib.img");
        write(
            &path,
            4 << 30,
            &[CardFile::bytes("x.gguf", *b"x")],
            &mut |_| {},
        )
        .unwrap();
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(meta.len(), 4 << 30);
        assert!(meta.blocks() * 512 < 16 << 20);
        assert_eq!(read_back(&path, 4 << 30, "x.gguf"), b"x");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn sizes_that_qemu_refuses_are_refused_here() {
        let path = scratch("odd.img");
        for size in [MIN_BYTES / 2, MIN_BYTES + SECTOR, 3 * MIN_BYTES, 1 << 50] {
            assert!(write(&path, size, &[], &mut |_| {}).is_err());
        }
    }

    #[test]
    fn files_that_do_not_fit_are_refused_with_the_size_to_take() {
        let files = [CardFile::bytes("m.gguf", vec![0; MIN_BYTES as usize])];
        let error = write(&scratch("full.img"), MIN_BYTES, &files, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("134217728"));
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = CardFile::path("m.gguf", scratch("x").parent().unwrap());
        let error = folder.len_bytes().unwrap_err();
        assert!(error.to_string().ends_with("is not a file"), "{error}");
    }

    #[test]
    fn clusters_grow_with_the_card() {
        assert_eq!(cluster_bytes((64 << 20) / SECTOR), 512);
        assert_eq!(cluster_bytes((256 << 20) / SECTOR), 2048);
        assert_eq!(cluster_bytes((4 << 30) / SECTOR), 32768);
    }
}
