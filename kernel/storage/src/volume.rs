//! A mounted FAT volume: its root directory and its files.

use alloc::string::String;
use alloc::vec::Vec;

use crate::boot_sector::{self, BootSector, FatType, Root};
use crate::chain::{Length, Runs};
use crate::device::{BLOCK_BYTES, Block, BlockDevice};
use crate::directory::{DirectoryEntry, ENTRY_BYTES, Scanner, Step};
use crate::error::Error;
use crate::window::Window;
use crate::{chain, fs_info, mbr};

/// FAT window: 4 KiB, then up to 64 KiB (16 384 clusters of FAT32).
const FAT_WINDOW_BLOCKS: (usize, usize) = (8, 128);
/// Data window: 4 KiB, then up to 1 MiB.
const DATA_WINDOW_BLOCKS: (usize, usize) = (8, 2048);
/// A directory holds at most 65 536 entries (`fatgen103`, page 25).
const MAX_DIRECTORY_BYTES: u64 = 65_536 * ENTRY_BYTES as u64;

/// A file in the root directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Long name where there is one.
    pub name: String,
    /// Length.
    pub len_bytes: u64,
}

/// An open file. Stays valid as long as its volume is mounted: nothing writes here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    name: String,
    len_bytes: u64,
    runs: Runs,
}

impl File {
    /// Name, as the card spells it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Length, below 4 GiB.
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    /// In how many pieces the file lies on the card.
    pub fn n_pieces(&self) -> usize {
        self.runs.as_slice().len()
    }
}

/// What the first sectors of a card say: where its volume is and in which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    boot: BootSector,
    free_clusters: Option<u32>,
    clean: bool,
}

impl Layout {
    /// Finds the first FAT volume of the card and checks it.
    pub fn read<D: BlockDevice>(device: &mut D) -> Result<Self, Error<D::Error>> {
        let boot = find(device)?;
        let free_clusters = match boot.fs_info_block {
            Some(block) => fs_info::free_clusters(&read_block(device, block)?, boot.n_clusters),
            None => None,
        };
        // The table's entry of cluster 1 has a bit that drivers clear while the volume is in use.
        let table = read_block(device, boot.fat_first_block)?;
        let at_rest = match boot.fat_type {
            FatType::Fat16 => table[3] & 0x80,
            FatType::Fat32 => table[7] & 0x08,
        };
        Ok(Self {
            boot,
            free_clusters,
            clean: at_rest != 0 && !boot.dirty,
        })
    }
}

/// A FAT16 or FAT32 volume on a device, read-only.
#[derive(Debug)]
pub struct Volume<D> {
    device: D,
    layout: Layout,
    fat_window: Window,
    data_window: Window,
}

impl<D: BlockDevice> Volume<D> {
    /// Finds the first FAT volume of the card and checks it.
    pub fn mount(mut device: D) -> Result<Self, Error<D::Error>> {
        let layout = Layout::read(&mut device)?;
        Ok(Self::new(device, layout))
    }

    /// The volume that `layout`, read from this device, describes.
    pub fn new(device: D, layout: Layout) -> Self {
        Self {
            device,
            layout,
            fat_window: Window::new(FAT_WINDOW_BLOCKS.0, FAT_WINDOW_BLOCKS.1),
            data_window: Window::new(DATA_WINDOW_BLOCKS.0, DATA_WINDOW_BLOCKS.1),
        }
    }

    /// Gives the device back.
    pub fn unmount(self) -> D {
        self.device
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The volume's geometry.
    pub fn geometry(&self) -> &BootSector {
        &self.layout.boot
    }

    /// Bytes of all clusters.
    pub fn len_bytes(&self) -> u64 {
        u64::from(self.layout.boot.n_clusters) * self.layout.boot.cluster_bytes()
    }

    /// Bytes not in use, where the card says it.
    pub fn free_bytes(&self) -> Option<u64> {
        let free = self.layout.free_clusters?;
        Some(u64::from(free) * self.layout.boot.cluster_bytes())
    }

    /// False if the card was pulled out before its last writer had finished: files may be damaged.
    pub fn was_ejected_cleanly(&self) -> bool {
        self.layout.clean
    }

    /// Every file of the root directory, in directory order.
    pub fn list(&mut self) -> Result<Vec<Entry>, Error<D::Error>> {
        let mut entries = Vec::new();
        self.scan(|entry| {
            entries.push(Entry {
                len_bytes: u64::from(entry.len_bytes),
                name: entry.name,
            });
            None::<()>
        })?;
        Ok(entries)
    }

    /// The `*.gguf` files of the root directory, by name. `._*` is what macOS leaves beside files.
    pub fn list_models(&mut self) -> Result<Vec<Entry>, Error<D::Error>> {
        let mut models = self.list()?;
        let n_files = models.len();
        models.retain(|entry| is_model(&entry.name));
        if models.is_empty() {
            return Err(Error::NoModel { n_files });
        }
        models.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(models)
    }

    /// Opens a file of the root directory by its long or short name, in any case.
    pub fn open(&mut self, name: &str) -> Result<File, Error<D::Error>> {
        let found = self.scan(|entry| entry.is_called(name).then_some(entry))?;
        let entry = found.ok_or_else(|| Error::NotFound { name: name.into() })?;
        let n_clusters =
            u64::from(entry.len_bytes).div_ceil(self.layout.boot.cluster_bytes()) as u32;
        let runs = if n_clusters == 0 {
            Runs::default()
        } else {
            self.follow(entry.first_cluster, Length::Exactly(n_clusters))
                .map_err(|cause| Error::File {
                    name: entry.name.clone(),
                    cause,
                })?
        };
        Ok(File {
            name: entry.name,
            len_bytes: u64::from(entry.len_bytes),
            runs,
        })
    }

    /// Fills `buf` with the file's bytes from `offset` on.
    ///
    /// Large requests go straight into `buf`, one device read per piece of the file; small ones
    /// through the data window. Straight reads need an `offset` that is a multiple of 512 and a
    /// `buf` that the device takes, see [`BlockDevice::is_direct`].
    pub fn read_at(
        &mut self,
        file: &File,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<(), Error<D::Error>> {
        let len = buf.len() as u64;
        let past_end = || Error::PastEnd {
            name: file.name.clone(),
            offset,
            len,
            file_len: file.len_bytes,
        };
        if offset
            .checked_add(len)
            .is_none_or(|end| end > file.len_bytes)
        {
            return Err(past_end());
        }
        let mut offset = offset;
        let mut buf = buf;
        let wanted = len / BLOCK_BYTES as u64;
        while !buf.is_empty() {
            let file_block = (offset / BLOCK_BYTES as u64) as u32;
            let skip = (offset % BLOCK_BYTES as u64) as usize;
            let (block, in_a_row) = file.runs.locate(file_block).ok_or_else(past_end)?;
            let n = match self.straight_len(skip, block, in_a_row, buf) {
                0 => self.copy_from_window(block, in_a_row, skip, wanted, buf),
                n => self.read_straight(block, &mut buf[..n]),
            }
            .map_err(Error::Device)?;
            offset += n as u64;
            buf = &mut buf[n..];
        }
        Ok(())
    }

    /// How many bytes to read without the window; 0 if the window is the better way.
    fn straight_len(&self, skip: usize, block: u64, in_a_row: u32, buf: &[u8]) -> usize {
        if skip != 0 || self.data_window.holds(block) {
            return 0;
        }
        let in_a_row = in_a_row as usize * BLOCK_BYTES;
        let n = (buf.len() - buf.len() % BLOCK_BYTES).min(in_a_row);
        // The window is for small pieces that continue; where the piece ends it cannot read ahead.
        let worth_it = n >= self.data_window.max_bytes().min(in_a_row);
        if worth_it && self.device.is_direct(&buf[..n]) {
            n
        } else {
            0
        }
    }

    fn read_straight(&mut self, block: u64, buf: &mut [u8]) -> Result<usize, D::Error> {
        self.device.read_blocks(block, buf)?;
        let n_blocks = (buf.len() / BLOCK_BYTES) as u64;
        self.data_window.passed(block + n_blocks);
        Ok(buf.len())
    }

    fn copy_from_window(
        &mut self,
        block: u64,
        in_a_row: u32,
        skip: usize,
        wanted: u64,
        buf: &mut [u8],
    ) -> Result<usize, D::Error> {
        let ahead = u64::from(in_a_row);
        let held = self
            .data_window
            .bytes(&mut self.device, block, wanted, ahead)?;
        // The window may hold blocks of another file behind this piece.
        let held = &held[skip..held.len().min(in_a_row as usize * BLOCK_BYTES)];
        let n = held.len().min(buf.len());
        buf[..n].copy_from_slice(&held[..n]);
        Ok(n)
    }

    /// Goes through the files of the root directory until `visit` returns something.
    fn scan<T>(
        &mut self,
        mut visit: impl FnMut(DirectoryEntry) -> Option<T>,
    ) -> Result<Option<T>, Error<D::Error>> {
        let runs = self.root_runs().map_err(Error::RootDirectory)?;
        let wide = self.layout.boot.fat_type == FatType::Fat32;
        let mut scanner = Scanner::default();
        let mut file_block = 0;
        while let Some((block, in_a_row)) = runs.locate(file_block) {
            let ahead = u64::from(in_a_row);
            let bytes = self.data_window.bytes(&mut self.device, block, 1, ahead);
            let bytes = &bytes.map_err(Error::Device)?[..BLOCK_BYTES];
            for entry in bytes.as_chunks::<ENTRY_BYTES>().0 {
                match scanner.push(entry, wide) {
                    Step::Nothing => {}
                    Step::End => return Ok(None),
                    Step::Entry(entry) if entry.is_directory => {}
                    Step::Entry(entry) => {
                        if let Some(found) = visit(entry) {
                            return Ok(Some(found));
                        }
                    }
                }
            }
            file_block += 1;
        }
        Ok(None)
    }

    fn root_runs(&mut self) -> Result<Runs, chain::Error<D::Error>> {
        match self.layout.boot.root {
            Root::Blocks { first, n_blocks } => Ok(Runs::single(first, n_blocks as u32)),
            Root::Cluster(first) => {
                let limit = MAX_DIRECTORY_BYTES.div_ceil(self.layout.boot.cluster_bytes());
                self.follow(first, Length::ToEnd(limit as u32))
            }
        }
    }

    fn follow(&mut self, first: u32, length: Length) -> Result<Runs, chain::Error<D::Error>> {
        let boot = self.layout.boot;
        Runs::follow(&boot, first, length, |cluster| self.fat_entry(cluster))
    }

    /// The table's entry of `cluster`, a data cluster.
    fn fat_entry(&mut self, cluster: u32) -> Result<u32, D::Error> {
        let entry_bytes = self.layout.boot.fat_type.entry_bytes();
        let offset = u64::from(cluster) * entry_bytes;
        let index = offset / BLOCK_BYTES as u64;
        let block = self.layout.boot.fat_first_block + index;
        let ahead = self.layout.boot.fat_n_blocks - index;
        let bytes = self.fat_window.bytes(&mut self.device, block, 1, ahead)?;
        let bytes = &bytes[(offset % BLOCK_BYTES as u64) as usize..][..entry_bytes as usize];
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |entry, &b| entry << 8 | u32::from(b)))
    }
}

/// Whether a name is that of a model file.
fn is_model(name: &str) -> bool {
    let stem = name.len().checked_sub(".gguf".len());
    let suffix = stem.and_then(|at| name.get(at..));
    suffix.is_some_and(|s| s.eq_ignore_ascii_case(".gguf")) && !name.starts_with("._")
}

fn read_block<D: BlockDevice>(device: &mut D, block: u64) -> Result<Block, Error<D::Error>> {
    let mut sector = [0; BLOCK_BYTES];
    device
        .read_blocks(block, &mut sector)
        .map_err(Error::Device)?;
    Ok(sector)
}

/// The first volume of the card that is FAT, or the reason why there is none.
fn find<D: BlockDevice>(device: &mut D) -> Result<BootSector, Error<D::Error>> {
    let n_blocks = device.n_blocks();
    if n_blocks == 0 {
        return Err(mbr::Error::Blank.into());
    }
    let table = read_block(device, 0)?;
    let candidates = match mbr::parse(&table) {
        Ok(candidates) => candidates,
        Err(error @ mbr::Error::NoFat { .. }) => {
            // Type 0x07 is exFAT or NTFS; the boot sector's name for it helps more than the number.
            if let Some(first) = mbr::exfat_or_ntfs(&table).filter(|&b| u64::from(b) < n_blocks) {
                let sector = read_block(device, first.into())?;
                if let Some(other) = boot_sector::Other::recognise(&sector) {
                    return Err(mbr::Error::Other(other).into());
                }
            }
            return Err(error.into());
        }
        Err(error) => return Err(error.into()),
    };
    let mut first_error = None;
    for first in candidates.first_blocks().map(u64::from) {
        let result = if first < n_blocks {
            let sector = read_block(device, first)?;
            BootSector::parse(&sector, first, n_blocks)
        } else {
            Err(boot_sector::Error::BeyondCard {
                end: first + 1,
                n_blocks,
            })
        };
        match result {
            Ok(boot) => return Ok(boot),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.map_or(mbr::Error::NoPartition.into(), Error::Format))
}
