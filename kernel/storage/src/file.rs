//! An open file.

use alloc::string::String;

use crate::chain::Runs;

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
}
