//! Files of a root directory.

use alloc::string::String;

use crate::chain::Runs;

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
    pub(super) name: String,
    pub(super) len_bytes: u64,
    pub(super) runs: Runs,
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

/// Whether a name is that of a model file.
pub(super) fn is_model(name: &str) -> bool {
    let stem = name.len().checked_sub(".gguf".len());
    let suffix = stem.and_then(|at| name.get(at..));
    suffix.is_some_and(|s| s.eq_ignore_ascii_case(".gguf")) && !name.starts_with("._")
}
