//! `docs/speed.md`: its sections between marks are rendered from `docs/figures`.

use crate::marked::with_section;
use crate::workspace::root;
use crate::{count, figures, mca};
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

/// Puts the figures into the page.
///
/// # Errors
/// The page, its marks or the figures are missing, or it cannot be written.
pub fn render() -> Result<()> {
    fs::write(path(), rendered()?).with_context(|| format!("writing {}", path().display()))
}

fn path() -> PathBuf {
    root().join("docs/speed.md")
}

/// The page with the present figures.
fn rendered() -> Result<String> {
    let page =
        fs::read_to_string(path()).with_context(|| format!("reading {}", path().display()))?;
    let loops: Vec<mca::LoopCost> = figures::read(mca::FIGURES)?;
    let per_32 = mca::decode_loop(&loops)?.instructions;
    let counts = count::section(&figures::read(count::FIGURES)?, per_32);
    let page = with_section(&page, count::FIGURES, &counts);
    page.and_then(|page| with_section(&page, mca::FIGURES, &mca::section(&loops)))
        .with_context(|| format!("{} lacks the marks of a section", path().display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_rendered_from_the_figures() {
        let page = fs::read_to_string(path()).unwrap();
        assert!(
            page == rendered().unwrap(),
            "docs/speed.md is stale: `cargo xtask figures` renders it"
        );
    }
}
