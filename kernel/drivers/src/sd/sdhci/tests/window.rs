//! A file of the card, read into memory that the engine does not reach: by DMA into storage's window,
//! and from there by the core.

use std::io::{Cursor, Write};

use storage::{BlockDevice, Volume};

use super::chip::Chip;
use super::chip::rig::{Host, lines, memory, start};
use crate::dma::shadow::{LINE, ShadowMemory};
use crate::sd::adma::DmaMap;
use crate::sd::card::{CardError, Counters, Modes, SdCard};

const FILE_BYTES: usize = (3 << 20) + 777;

/// The card; what it reads into and nobody has placed is the heap's, below 1 GiB.
struct Blocks<'a> {
    card: SdCard<Host<'a>>,
    memory: &'a ShadowMemory,
    next_phys: usize,
}

impl BlockDevice for Blocks<'_> {
    type Error = CardError;

    fn n_blocks(&self) -> u64 {
        self.card.n_blocks()
    }

    fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), CardError> {
        let addr = buf.as_ptr().addr();
        // Single blocks may be on a stack.
        let is_window = buf.len() > 512 && addr.is_multiple_of(LINE);
        if is_window && self.memory.phys_addr(addr, buf.len()).is_none() {
            self.memory.map(buf, self.next_phys);
            self.next_phys += buf.len();
        }
        self.card.read_blocks(first, buf)
    }

    fn is_direct(&self, buf: &[u8]) -> bool {
        self.card.is_direct(buf)
    }
}

fn content() -> Vec<u8> {
    (0..FILE_BYTES)
        .map(|i| (i ^ i >> 8 ^ i >> 15) as u8)
        .collect()
}

/// A FAT volume with one file.
fn image() -> Vec<u8> {
    let mut image = Cursor::new(vec![0; 16 << 20]);
    let options = fatfs::FormatVolumeOptions::new().fat_type(fatfs::FatType::Fat16);
    fatfs::format_volume(&mut image, options).unwrap();
    let volume = fatfs::FileSystem::new(&mut image, fatfs::FsOptions::new()).unwrap();
    let mut file = volume.root_dir().create_file("a.gguf").unwrap();
    file.write_all(&content()).unwrap();
    drop(file);
    volume.unmount().unwrap();
    image.into_inner()
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn what_the_engine_does_not_reach_comes_through_the_window() {
    // Where the model goes, and whether the engine reaches it.
    let cases = [
        (DmaMap::Alias, 0x2000_0000, true),
        (DmaMap::Alias, 0x4000_0000, false),
        (DmaMap::Alias, 0x4000_0000 - (64 << 10), false),
        (DmaMap::Identity, 0x4000_0000, true),
        (DmaMap::Identity, 0x1_0000_0000, false),
    ];
    for (map, phys, is_reached) in cases {
        let memory = memory(phys as u64 | 1);
        let chip = Chip::new(&memory, map);
        chip.card.borrow_mut().image = Some(image());
        let card = start(&chip, Modes::default(), &[map]).unwrap();
        let blocks = Blocks {
            card,
            memory: &memory,
            next_phys: 0x0300_0000,
        };
        let mut volume = Volume::mount(blocks).unwrap();
        let file = volume.open("a.gguf").unwrap();
        let arena = lines(FILE_BYTES.next_multiple_of(LINE));
        memory.map(arena, phys);
        let whole_lines = FILE_BYTES / 512 * 512;
        assert_eq!(volume.device().is_direct(&arena[..whole_lines]), is_reached);
        let n_before = chip.n_by_engine.get();
        volume.read_at(&file, 0, &mut arena[..FILE_BYTES]).unwrap();
        assert!(arena[..FILE_BYTES] == content()[..], "{map:?} at {phys:#x}");
        let n_by_engine = chip.n_by_engine.get() - n_before;
        assert!(n_by_engine >= whole_lines, "{n_by_engine} bytes by DMA");
        assert_eq!(volume.device().card.counters(), Counters::default());
    }
}
