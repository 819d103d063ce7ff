//! A mounted FAT volume: its root directory and its files.

mod reads;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::boot_sector::{BootSector, FatType, Root};
use crate::chain;
use crate::chain::{Length, Runs};
use crate::device::{BLOCK_BYTES, BlockDevice};
use crate::directory::{DirectoryEntry, ENTRY_BYTES, Scanner, Step, lower_case};
use crate::error::Error;
use crate::file::File;
use crate::layout::Layout;
use crate::window::Window;

/// FAT window: 4 KiB, then up to 64 KiB (16 384 clusters of FAT32).
const FAT_WINDOW_BLOCKS: (usize, usize) = (8, 128);
/// Data window: 4 KiB, then up to 1 MiB.
const DATA_WINDOW_BLOCKS: (usize, usize) = (8, 2048);
/// A directory holds at most 65 536 entries (`fatgen103`, page 25).
const MAX_DIRECTORY_BYTES: u64 = 65_536 * ENTRY_BYTES as u64;
/// Models that are listed: a card may name more of them than memory holds.
const MAX_MODELS: usize = 1000;

/// A file in the root directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Long name where there is one.
    pub name: String,
    /// Length.
    pub len_bytes: u64,
}

/// The FAT16 and FAT32 volumes of a device, read-only: the files in their root directories.
#[derive(Debug)]
pub struct Volume<D> {
    device: D,
    layouts: Vec<Layout>,
    fat_window: Window,
    data_window: Window,
}

impl<D: BlockDevice> Volume<D> {
    /// Finds the FAT volumes of the card and checks them.
    pub fn mount(mut device: D) -> Result<Self, Error<D::Error>> {
        let layouts = Layout::read_all(&mut device)?;
        Ok(Self::new(device, layouts))
    }

    /// The volumes that `layouts`, read from this device, describe; at least one.
    pub fn new(device: D, layouts: Vec<Layout>) -> Self {
        assert!(!layouts.is_empty(), "a card without a volume is an error");
        Self {
            device,
            layouts,
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

    /// The first volume's geometry.
    pub fn geometry(&self) -> &BootSector {
        &self.layouts[0].boot
    }

    /// How many volumes the card has.
    pub fn n_volumes(&self) -> usize {
        self.layouts.len()
    }

    /// Bytes of all clusters.
    pub fn len_bytes(&self) -> u64 {
        let len = |layout: &Layout| u64::from(layout.boot.n_clusters) * layout.boot.cluster_bytes();
        self.layouts.iter().map(len).sum()
    }

    /// Bytes not in use, where the card says it of all its volumes.
    pub fn free_bytes(&self) -> Option<u64> {
        let free = |layout: &Layout| {
            let clusters = u64::from(layout.free_clusters?);
            Some(clusters * layout.boot.cluster_bytes())
        };
        self.layouts.iter().map(free).sum()
    }

    /// False if the card was pulled out before its last writer had finished: files may be damaged.
    pub fn was_ejected_cleanly(&self) -> bool {
        self.layouts.iter().all(|layout| layout.clean)
    }

    /// Every file of the root directories, in directory order.
    pub fn list(&mut self) -> Result<Vec<Entry>, Error<D::Error>> {
        let mut entries = Vec::new();
        self.scan_all(|_, entry| {
            entries.push(Entry {
                len_bytes: u64::from(entry.len_bytes),
                name: entry.name,
            });
            None::<()>
        })?;
        Ok(entries)
    }

    /// The `*.gguf` files of the root directories, by name. `._*` is what macOS leaves beside files.
    /// Of names that differ in case at most, the first one is meant, as [`Volume::open`] does; at most 1000.
    pub fn list_models(&mut self) -> Result<Vec<Entry>, Error<D::Error>> {
        let mut n_files = 0;
        let mut models = BTreeMap::new();
        self.scan_all(|_, entry| {
            n_files += 1;
            if is_model(&entry.name) {
                models.entry(lower_case(&entry.name)).or_insert(Entry {
                    len_bytes: u64::from(entry.len_bytes),
                    name: entry.name,
                });
            }
            (models.len() == MAX_MODELS).then_some(())
        })?;
        if models.is_empty() {
            return Err(Error::NoModel { n_files });
        }
        let mut models: Vec<Entry> = models.into_values().collect();
        models.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(models)
    }

    /// Opens a file of the root directory by its long or short name, in any case.
    pub fn open(&mut self, name: &str) -> Result<File, Error<D::Error>> {
        let found = self.scan_all(|boot, entry| entry.is_called(name).then_some((boot, entry)))?;
        let (boot, entry) = found.ok_or_else(|| Error::NotFound { name: name.into() })?;
        let n_clusters = u64::from(entry.len_bytes).div_ceil(boot.cluster_bytes()) as u32;
        let runs = if n_clusters == 0 {
            Runs::default()
        } else {
            self.follow(boot, entry.first_cluster, Length::Exactly(n_clusters))
                .map_err(|cause| match cause {
                    chain::Error::Table(error) => Error::Device(error),
                    cause => Error::File {
                        name: entry.name.clone(),
                        cause,
                    },
                })?
        };
        Ok(File {
            name: entry.name,
            len_bytes: u64::from(entry.len_bytes),
            runs,
        })
    }

    /// Goes through the files of every root directory until `visit` returns something. A directory that
    /// is damaged is an error only if nothing is found in the others.
    fn scan_all<T>(
        &mut self,
        mut visit: impl FnMut(BootSector, DirectoryEntry) -> Option<T>,
    ) -> Result<Option<T>, Error<D::Error>> {
        let mut damaged = None;
        let mut n_visited = 0;
        for i in 0..self.layouts.len() {
            let boot = self.layouts[i].boot;
            let found = self.scan(boot, |entry| {
                n_visited += 1;
                visit(boot, entry)
            });
            match found {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(error) if error.is_device() => return Err(error),
                Err(error) => damaged = damaged.or(Some(error)),
            }
        }
        match damaged {
            Some(error) if n_visited == 0 => Err(error),
            _ => Ok(None),
        }
    }

    /// Goes through the files of a root directory until `visit` returns something.
    fn scan<T>(
        &mut self,
        boot: BootSector,
        mut visit: impl FnMut(DirectoryEntry) -> Option<T>,
    ) -> Result<Option<T>, Error<D::Error>> {
        let runs = self.root_runs(boot).map_err(|cause| match cause {
            chain::Error::Table(error) => Error::Device(error),
            cause => Error::RootDirectory(cause),
        })?;
        let wide = boot.fat_type == FatType::Fat32;
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

    fn root_runs(&mut self, boot: BootSector) -> Result<Runs, chain::Error<D::Error>> {
        match boot.root {
            Root::Blocks { first, n_blocks } => Ok(Runs::single(first, n_blocks as u32)),
            Root::Cluster(first) => {
                let limit = MAX_DIRECTORY_BYTES.div_ceil(boot.cluster_bytes());
                self.follow(boot, first, Length::ToEnd(limit as u32))
            }
        }
    }

    fn follow(
        &mut self,
        boot: BootSector,
        first: u32,
        length: Length,
    ) -> Result<Runs, chain::Error<D::Error>> {
        let entry = |cluster| self.fat_entry(&boot, cluster);
        Runs::follow(&boot, first, length, entry)
    }

    /// The table's entry of `cluster`, a data cluster.
    fn fat_entry(&mut self, boot: &BootSector, cluster: u32) -> Result<u32, D::Error> {
        let entry_bytes = boot.fat_type.entry_bytes();
        let offset = u64::from(cluster) * entry_bytes;
        let index = offset / BLOCK_BYTES as u64;
        let block = boot.fat_first_block + index;
        let ahead = boot.fat_n_blocks - index;
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
