//! Where a card's FAT volumes are, and in which state.

use alloc::vec::Vec;

use crate::boot_sector::{self, BootSector, FatType};
use crate::device::{BLOCK_BYTES, Block, BlockDevice};
use crate::error::Error;
use crate::{fs_info, gpt, mbr};

/// Volumes of a card that are looked at.
const MAX_VOLUMES: usize = 8;

/// What the first sectors of a volume say: where it is and in which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its geometry.
    pub boot: BootSector,
    /// Clusters not in use, where the card says it.
    pub free_clusters: Option<u32>,
    /// False if its last writer had not finished.
    pub clean: bool,
}

impl Layout {
    /// Finds the FAT volumes of the card and checks them; at least one.
    pub fn read_all<D: BlockDevice>(device: &mut D) -> Result<Vec<Self>, Error<D::Error>> {
        let mut layouts = Vec::new();
        for boot in find(device)? {
            layouts.push(Self::read(device, boot)?);
        }
        Ok(layouts)
    }

    fn read<D: BlockDevice>(device: &mut D, boot: BootSector) -> Result<Self, Error<D::Error>> {
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

fn read_block<D: BlockDevice>(device: &mut D, block: u64) -> Result<Block, Error<D::Error>> {
    let mut sector = [0; BLOCK_BYTES];
    device
        .read_blocks(block, &mut sector)
        .map_err(Error::Device)?;
    Ok(sector)
}

/// The volumes of the card that are FAT, or the reason why there is none.
fn find<D: BlockDevice>(device: &mut D) -> Result<Vec<BootSector>, Error<D::Error>> {
    let n_blocks = device.n_blocks();
    let mut volumes = Vec::new();
    let mut first_error = None;
    for first in candidates(device)? {
        let result = if first < n_blocks {
            let sector = read_block(device, first)?;
            BootSector::parse(&sector, first, n_blocks)
        } else {
            Err(boot_sector::Error::BeyondCard {
                end: first.saturating_add(1),
                n_blocks,
            })
        };
        match result {
            // A hybrid table names a partition twice, and what begins at block 0 has no partitions.
            Ok(boot) if volumes.iter().any(|other| overlap(&boot, other)) => {}
            Ok(boot) => volumes.push(boot),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    if volumes.is_empty() {
        return Err(first_error.map_or(mbr::Error::NoPartition.into(), Error::Format));
    }
    volumes.truncate(MAX_VOLUMES);
    Ok(volumes)
}

fn overlap(a: &BootSector, b: &BootSector) -> bool {
    a.fat_first_block < b.end_block && b.fat_first_block < a.end_block
}

/// First blocks of what may be a FAT volume.
fn candidates<D: BlockDevice>(device: &mut D) -> Result<Vec<u64>, Error<D::Error>> {
    let n_blocks = device.n_blocks();
    if n_blocks == 0 {
        return Err(mbr::Error::Blank.into());
    }
    let table = read_block(device, 0)?;
    match mbr::parse(&table) {
        Ok(candidates) => {
            let mut firsts: Vec<u64> = candidates.first_blocks().map(u64::from).collect();
            if candidates.is_hybrid {
                // The short table has room for some of the partitions only. What cannot be read of the long
                // one leaves those.
                firsts.extend(read_gpt(device).unwrap_or_default());
            }
            Ok(firsts)
        }
        Err(error @ mbr::Error::Gpt) => {
            let firsts = read_gpt(device)?;
            if firsts.is_empty() {
                return Err(error.into());
            }
            Ok(firsts)
        }
        Err(error @ mbr::Error::NoFat { .. }) => {
            // Type 0x07 is exFAT or NTFS; the boot sector's name for it helps more than the number.
            if let Some(first) = mbr::exfat_or_ntfs(&table).filter(|&b| u64::from(b) < n_blocks) {
                let sector = read_block(device, first.into())?;
                if let Some(other) = boot_sector::Other::recognise(&sector) {
                    return Err(mbr::Error::Other(other).into());
                }
            }
            Err(error.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// First blocks of the partitions of a GUID partition table that may be FAT.
fn read_gpt<D: BlockDevice>(device: &mut D) -> Result<Vec<u64>, Error<D::Error>> {
    let primary = read_gpt_header(device, gpt::HEADER_BLOCK)?;
    if let Some(header) = primary.filter(|header| header.is_intact) {
        let firsts = read_gpt_entries(device, header)?;
        if !firsts.is_empty() {
            return Ok(firsts);
        }
    }
    // The copy is where the header says, which may be damaged, or at the card's end.
    let elsewhere = primary.map(|header| header.other_block);
    let copies = [elsewhere, device.n_blocks().checked_sub(1)];
    for block in copies.into_iter().flatten() {
        // A copy that cannot be read leaves the header as good as it is.
        let copy = read_gpt_header(device, block).ok().flatten();
        if let Some(header) = copy.filter(|header| header.is_intact) {
            let firsts = read_gpt_entries(device, header)?;
            if !firsts.is_empty() {
                return Ok(firsts);
            }
        }
    }
    // A damaged header is better than none: boot sectors are checked whoever names them.
    primary.map_or(Ok(Vec::new()), |header| read_gpt_entries(device, header))
}

fn read_gpt_header<D: BlockDevice>(
    device: &mut D,
    block: u64,
) -> Result<Option<gpt::Header>, Error<D::Error>> {
    if block >= device.n_blocks() {
        return Ok(None);
    }
    Ok(gpt::Header::parse(&read_block(device, block)?, block))
}

fn read_gpt_entries<D: BlockDevice>(
    device: &mut D,
    header: gpt::Header,
) -> Result<Vec<u64>, Error<D::Error>> {
    let mut firsts = Vec::new();
    let end = header.first_block.saturating_add(header.n_blocks);
    for block in header.first_block..end.min(device.n_blocks()) {
        firsts.extend(header.first_blocks(&read_block(device, block)?));
    }
    Ok(firsts)
}
