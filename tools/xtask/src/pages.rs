//! Pages of `docs`: their sections between marks are rendered from `docs/figures`.

use crate::marked::with_section;
use crate::workspace::{read_text, root};
use crate::{count, figures, mca, parity};
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

/// Names of marks, and what stands between them.
type Sections = Vec<(&'static str, String)>;

/// A page, and its sections with the present figures.
type Page = (&'static str, fn() -> Result<Sections>);

const PAGES: [Page; 2] = [("docs/speed.md", speed), ("docs/parity.md", parity)];

/// Puts the figures into the pages.
///
/// # Errors
/// A page, its marks or the figures are missing, or it cannot be written.
pub fn render() -> Result<()> {
    for (name, sections) in PAGES {
        let page = rendered(name, sections()?)?;
        fs::write(path(name), page).with_context(|| format!("writing {name}"))?;
    }
    Ok(())
}

fn path(name: &str) -> PathBuf {
    root().join(name)
}

fn rendered(name: &str, sections: Sections) -> Result<String> {
    let page = read_text(&path(name))?;
    sections.iter().try_fold(page, |page, (mark, text)| {
        with_section(&page, mark, text).with_context(|| format!("{name} lacks the marks of {mark}"))
    })
}

fn speed() -> Result<Sections> {
    let loops: Vec<mca::LoopCost> = figures::read(mca::FIGURES)?;
    let per_32 = mca::decode_loop(&loops)?.instructions;
    let counts = count::section(&figures::read(count::FIGURES)?, per_32);
    Ok(vec![
        (count::FIGURES, counts),
        (mca::FIGURES, mca::section(&loops)),
    ])
}

fn parity() -> Result<Sections> {
    Ok(parity::sections(&figures::read(parity::FIGURES)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_rendered_from_the_figures() {
        for (name, sections) in PAGES {
            assert!(
                fs::read_to_string(path(name)).unwrap()
                    == rendered(name, sections().unwrap()).unwrap(),
                "{name} is stale: `cargo xtask figures` renders it"
            );
        }
    }
}
