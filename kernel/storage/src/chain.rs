//! A file's clusters as runs of consecutive blocks.
//!
//! The chain is followed once, when a file is opened. Every walk ends: it counts its steps, and runs
//! that overlap (a loop, or two files sharing clusters would not matter, but one file twice over the
//! same blocks does) are refused.

use alloc::vec::Vec;

use crate::boot_sector::{BootSector, FatType};

/// Most runs of one file: 1 MiB of memory. A file in more pieces is read no faster than by blocks.
pub const MAX_RUNS: usize = 65_536;

/// Consecutive blocks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First block, counted in the file.
    pub file_block: u32,
    /// Length.
    pub n_blocks: u32,
    /// First block, counted on the card.
    pub card_block: u64,
}

/// Every block of a file or a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    runs: Vec<Run>,
}

/// What an entry of the file allocation table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Next(u32),
    End,
    Broken,
}

impl Link {
    fn new(boot: &BootSector, entry: u32) -> Self {
        let (value, end) = match boot.fat_type {
            FatType::Fat16 => (entry & 0xFFFF, 0xFFF8),
            // The upper four bits are reserved.
            FatType::Fat32 => (entry & 0x0FFF_FFFF, 0x0FFF_FFF8),
        };
        match value {
            _ if value >= end => Self::End,
            _ if boot.is_cluster(value) => Self::Next(value),
            // Free, reserved, bad, or beyond the volume.
            _ => Self::Broken,
        }
    }
}

/// Why a chain cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error<E> {
    /// Reading the table failed.
    #[error("{0}")]
    Table(E),
    /// It ends, or leads out of the volume, before the file does.
    #[error("only {have} of its {need} clusters are on the card")]
    Short {
        /// Clusters that were there.
        have: u32,
        /// Clusters that the length needs.
        need: u32,
    },
    /// It visits blocks twice.
    #[error("its cluster chain runs in a circle")]
    Loop,
    /// More than [`MAX_RUNS`] pieces.
    #[error("it lies in more than {MAX_RUNS} pieces")]
    TooFragmented,
}

/// How long a chain is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// This many clusters; what follows does not matter.
    Exactly(u32),
    /// To its end, at most this many clusters.
    ToEnd(u32),
}

impl Runs {
    /// A run that needs no table.
    pub fn single(card_block: u64, n_blocks: u32) -> Self {
        Self {
            runs: Vec::from([Run {
                file_block: 0,
                n_blocks,
                card_block,
            }]),
        }
    }

    /// Follows the chain from `first`. `entry` reads the table's entry of a cluster.
    pub fn follow<E>(
        boot: &BootSector,
        first: u32,
        length: Length,
        mut entry: impl FnMut(u32) -> Result<u32, E>,
    ) -> Result<Self, Error<E>> {
        let (need, exact) = match length {
            Length::Exactly(n) => (n, true),
            Length::ToEnd(n) => (n, false),
        };
        let mut runs = Self::default();
        let mut have = 0;
        let mut link = if boot.is_cluster(first) {
            Link::Next(first)
        } else {
            Link::Broken
        };
        while have < need {
            match link {
                Link::Next(cluster) => {
                    runs.push(
                        boot.cluster_first_block(cluster),
                        boot.cluster_blocks as u32,
                    )
                    .ok_or_else(|| runs.why_not())?;
                    have += 1;
                    if have < need {
                        link = Link::new(boot, entry(cluster).map_err(Error::Table)?);
                    }
                }
                Link::End if !exact => break,
                Link::Broken if !exact && have > 0 => break,
                Link::End | Link::Broken => return Err(Error::Short { have, need }),
            }
        }
        if runs.overlap() {
            return Err(Error::Loop);
        }
        Ok(runs)
    }

    /// Appends blocks; joins them with the last run where they continue it.
    fn push(&mut self, card_block: u64, n_blocks: u32) -> Option<()> {
        let file_block = match self.runs.last_mut() {
            Some(last) if last.card_block + u64::from(last.n_blocks) == card_block => {
                last.n_blocks = last.n_blocks.checked_add(n_blocks)?;
                return Some(());
            }
            Some(last) => last.file_block.checked_add(last.n_blocks)?,
            None => 0,
        };
        if self.runs.len() == MAX_RUNS {
            return None;
        }
        self.runs.push(Run {
            file_block,
            n_blocks,
            card_block,
        });
        Some(())
    }

    /// Why no further run is kept: a circle has no end, whatever the number of its pieces.
    fn why_not<E>(&self) -> Error<E> {
        if self.overlap() {
            Error::Loop
        } else {
            Error::TooFragmented
        }
    }

    fn overlap(&self) -> bool {
        let mut sorted: Vec<(u64, u64)> = self
            .runs
            .iter()
            .map(|r| (r.card_block, r.card_block + u64::from(r.n_blocks)))
            .collect();
        sorted.sort_unstable();
        sorted.windows(2).any(|pair| pair[0].1 > pair[1].0)
    }

    /// The card's block that holds the file's block `file_block`, and how many of the file's blocks
    /// lie in a row from there.
    pub fn locate(&self, file_block: u32) -> Option<(u64, u32)> {
        let after = self.runs.partition_point(|r| r.file_block <= file_block);
        let run = self.runs.get(after.checked_sub(1)?)?;
        let into = file_block - run.file_block;
        (into < run.n_blocks).then(|| (run.card_block + u64::from(into), run.n_blocks - into))
    }

    /// The runs, in the file's order.
    pub fn as_slice(&self) -> &[Run] {
        &self.runs
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
