//! An open file, and what its place on the card means for who reads it.

use alloc::string::String;

use crate::chain::Runs;

/// A model of 150 MB in a thousand pieces has 150 KB in each, a few milliseconds.
const MANY_PIECES: usize = 1000;

/// An open file. Stays valid as long as its volume is mounted: nothing writes here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub(crate) name: String,
    pub(crate) len_bytes: u64,
    pub(crate) runs: Runs,
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

    /// What somebody should know who waits for it, if it lies in very many pieces.
    pub fn scattered(&self) -> Option<Scattered<'_>> {
        let n_pieces = self.n_pieces();
        (n_pieces > MANY_PIECES).then_some(Scattered {
            name: &self.name,
            n_pieces,
        })
    }
}

/// A file in so many pieces that their commands take longer than its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} lies in {n_pieces} pieces on the card and loads slowly: copy it again")]
pub struct Scattered<'f> {
    /// The file's name.
    pub name: &'f str,
    /// Pieces.
    pub n_pieces: usize,
}
