//! Any blocks as a card.
//!
//! An input is a list of blocks, each its number (2 bytes, little-endian) and its 512 bytes; the
//! others are zero. A seed of a few blocks is a whole card, so that the fuzzer spends its bytes where
//! a card has its meaning.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Write;

use storage::boot_sector::Root;
use storage::{BLOCK_BYTES, BlockDevice, Error, Volume};

/// Blocks of the card: 64 MiB, just enough for FAT32.
pub const N_BLOCKS: u64 = 1 << 17;

const RECORD_BYTES: usize = 2 + BLOCK_BYTES;

/// A card of mostly empty blocks.
struct Card<'a> {
    blocks: HashMap<u64, &'a [u8]>,
    /// Blocks read: every question is answered within a bound.
    read: u64,
}

impl<'a> Card<'a> {
    fn new(data: &'a [u8]) -> Self {
        let records = data.chunks_exact(RECORD_BYTES);
        let blocks = records.map(|r| (u64::from(r[0]) | u64::from(r[1]) << 8, &r[2..]));
        Self {
            blocks: blocks.collect(),
            read: 0,
        }
    }
}

impl BlockDevice for Card<'_> {
    type Error = Infallible;

    fn n_blocks(&self) -> u64 {
        N_BLOCKS
    }

    fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), Infallible> {
        let n = (buf.len() / BLOCK_BYTES) as u64;
        assert!(n > 0 && buf.len().is_multiple_of(BLOCK_BYTES));
        assert!(first + n <= N_BLOCKS, "{n} blocks at {first}");
        self.read += n;
        for (i, block) in buf.chunks_exact_mut(BLOCK_BYTES).enumerate() {
            match self.blocks.get(&(first + i as u64)) {
                Some(bytes) => block.copy_from_slice(bytes),
                None => block.fill(0),
            }
        }
        Ok(())
    }
}

/// Packs the blocks of a card image that are not zero.
pub fn pack(image: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    for (i, block) in image.chunks_exact(BLOCK_BYTES).enumerate() {
        if block.iter().any(|&b| b != 0) {
            let number = u16::try_from(i).expect("the seeds use the first 32 MiB");
            packed.write_all(&number.to_le_bytes()).expect("in memory");
            packed.write_all(block).expect("in memory");
        }
    }
    packed
}

/// A card is refused in one line, or every file of it is read or refused in one line; no read leaves
/// the card, no walk is endless.
pub fn check(data: &[u8]) {
    let mut volume = match Volume::mount(Card::new(data)) {
        Ok(volume) => volume,
        Err(error) => return check_sentence(&error),
    };
    let boot = *volume.geometry();
    let data_end = boot.data_first_block + u64::from(boot.n_clusters) * boot.cluster_blocks;
    assert!(boot.n_clusters > 0 && data_end <= boot.end_block && boot.end_block <= N_BLOCKS);
    assert!(boot.fat_first_block + boot.fat_n_blocks <= boot.data_first_block);
    match boot.root {
        Root::Blocks { first, n_blocks } => assert!(first + n_blocks == boot.data_first_block),
        Root::Cluster(cluster) => assert!(boot.is_cluster(cluster)),
    }
    assert!(
        volume
            .free_bytes()
            .is_none_or(|free| free <= volume.len_bytes())
    );

    let entries = match volume.list() {
        Ok(entries) => entries,
        Err(error) => return check_sentence(&error),
    };
    assert!(entries.len() <= 65_536);
    if let Err(error) = volume.list_models() {
        check_sentence(&error);
    }
    for entry in entries.iter().take(4) {
        assert!(!entry.name.is_empty() && !entry.name.contains(char::is_control));
        match volume.open(&entry.name) {
            Ok(file) => {
                let len = file.len_bytes();
                let mut buf = vec![0; len.min(5000) as usize];
                let Ok(()) = volume.read_at(&file, 0, &mut buf) else {
                    panic!("the chain was followed")
                };
                let tail = len - buf.len() as u64;
                let Ok(()) = volume.read_at(&file, tail, &mut buf) else {
                    panic!("the chain was followed")
                };
                check_sentence(&volume.read_at(&file, len, &mut [0]).unwrap_err());
            }
            Err(error) => check_sentence(&error),
        }
    }
    // Each of the questions above reads at most the directory, the table and the ends of a file.
    assert!(volume.device().read <= 16 * N_BLOCKS);
}

fn check_sentence(error: &Error<Infallible>) {
    let sentence = error.to_string();
    assert!(sentence.contains(": "), "{sentence:?} says what to do");
    assert!(!sentence.contains(char::is_control), "{sentence:?}");
}
