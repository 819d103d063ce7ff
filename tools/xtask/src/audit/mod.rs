//! `cargo xtask audit`: what the kernel is made of, which instructions it has, where `unsafe` stands, which files name
//! each other.

mod circles;
mod code;
mod image;
mod ledger;
mod modules;
mod unsafe_sites;

#[cfg(test)]
mod tests;

use crate::workspace::{self, files_below, read_text};
use anyhow::Result;
use ledger::Ledger;
use std::collections::BTreeSet;
use std::path::Path;

/// Prints the findings in the sources and in the image.
///
/// # Errors
/// The sources differ from ARCHITECTURE.md's lists, or something foreign is in the kernel.
pub fn audit() -> Result<()> {
    let sources = sources(&workspace::root())?;
    stdout::line!("{sources}")?;
    image::audit()
}

/// Holds the sources below `root` against the lists of its ARCHITECTURE.md; a line for people.
fn sources(root: &Path) -> Result<String> {
    let ledger = Ledger::read(&read_text(&root.join("ARCHITECTURE.md"))?)?;
    let sites = unsafe_sites::unsafe_sites(root)?;
    ledger.check_unsafe(&sites)?;
    let circles = all_circles(root)?;
    ledger.check_circles(&circles)?;
    let n_sites: usize = sites.values().sum();
    Ok(format!(
        "unsafe: {n_sites} sites in {} files, all in their rooms; circles between files: {}",
        sites.len(),
        circles.len()
    ))
}

/// The circles of every crate below `root`, files by their paths from there.
fn all_circles(root: &Path) -> Result<BTreeSet<(String, String)>> {
    let mut found = BTreeSet::new();
    let manifests = files_below(root)?
        .into_iter()
        .filter(|file| file.ends_with("Cargo.toml"));
    let roots = manifests
        .flat_map(|file| ["src/lib.rs", "src/main.rs"].map(|name| file.with_file_name(name)));
    for crate_root in roots.filter(|file| file.is_file()) {
        found.extend(circles::circles(&modules::modules(&crate_root)?, root));
    }
    Ok(found)
}
