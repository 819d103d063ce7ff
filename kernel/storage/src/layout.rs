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
        let volumes = find(device)?;
        Ok(volumes
            .into_iter()
            .map(|boot| Self::read(device, boot))
            .collect())
    }

    fn read<D: BlockDevice>(device: &mut D, boot: BootSector) -> Self {
        // Both are hints: what cannot be read of them does not refuse the card.
        let fs_info = boot
            .fs_info_block
            .and_then(|block| read_block(device, block).ok());
        let free_clusters =
            fs_info.and_then(|sector| fs_info::free_clusters(&sector, boot.n_clusters));
        // The table's entry of cluster 1 has a bit that drivers clear while the volume is in use.
        let table = read_block(device, boot.fat_first_block).ok();
        let is_at_rest = table.is_none_or(|table| match boot.fat_type {
            FatType::Fat16 => table[3] & 0x80 != 0,
            FatType::Fat32 => table[7] & 0x08 != 0,
        });
        Self {
            boot,
            free_clusters,
            clean: is_at_rest && !boot.dirty,
        }
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
            read_block(device, first).and_then(|sector| {
                BootSector::parse(&sector, first, n_blocks).map_err(Error::Format)
            })
        } else {
            Err(Error::Format(boot_sector::Error::BeyondCard {
                end: first.saturating_add(1),
                n_blocks,
            }))
        };
        match result {
            // A hybrid table names a partition twice, and what begins at block 0 has no partitions.
            Ok(boot) if volumes.iter().any(|other| overlap(&boot, other)) => {}
            Ok(boot) => volumes.push(boot),
            // A volume that cannot be read may be the one: that is said before what another is.
            Err(error) if error.is_device() => {
                first_error = first_error.filter(Error::is_device).or(Some(error));
            }
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    if volumes.is_empty() {
        return Err(first_error.unwrap_or(mbr::Error::NoPartition.into()));
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
            // What begins at block 0 comes last: beside a table it is what a formatter left over.
            let of_table = candidates.first_blocks().filter(|&first| first != 0);
            let mut firsts: Vec<u64> = of_table.map(u64::from).collect();
            if candidates.is_hybrid {
                // The short table has room for some of the partitions only. What cannot be read of the long
                // one leaves those.
                match read_gpt(device) {
                    Ok(more) => firsts.extend(more),
                    // The volume that the card was before is not what is on it now.
                    Err(error) if firsts.is_empty() => return Err(error),
                    Err(_) => {}
                }
            }
            firsts.extend(
                candidates
                    .first_blocks()
                    .filter(|&first| first == 0)
                    .map(u64::from),
            );
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
    let primary = read_gpt_header(device, gpt::HEADER_BLOCK);
    // The copy is where the header says, which may be damaged, or at the card's end.
    let known = primary.as_ref().ok().copied().flatten();
    let elsewhere = known.map(|header| header.other_block);
    let places = [
        Some(gpt::HEADER_BLOCK),
        elsewhere,
        device.n_blocks().checked_sub(1),
    ];
    for block in places.into_iter().flatten() {
        // What cannot be read of one leaves the other.
        let header = read_gpt_header(device, block).ok().flatten();
        if let Some(header) = header.filter(|header| header.is_intact) {
            let firsts = read_gpt_entries(device, header).unwrap_or_default();
            if !firsts.is_empty() {
                return Ok(firsts);
            }
        }
    }
    // A damaged header is better than none: boot sectors are checked whoever names them.
    primary?.map_or(Ok(Vec::new()), |header| read_gpt_entries(device, header))
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
