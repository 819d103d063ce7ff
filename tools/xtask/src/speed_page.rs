//! `docs/speed.md`: sections that commands write, between marks, in a page that people write.

use crate::marked::{cut, with_section};
use crate::workspace::root;
use anyhow::{Context, Result};
use std::fs;

/// What stands between the marks `<!-- name -->` and `<!-- end of name -->` of the page.
///
/// # Errors
/// The page or its marks are missing.
pub fn read_section(name: &str) -> Result<String> {
    let path = root().join("docs/speed.md");
    let page = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let (_, text, _) =
        cut(&page, name).with_context(|| format!("{} has no marks for {name}", path.display()))?;
    Ok(text.to_owned())
}

/// Puts `text` between the marks `<!-- name -->` and `<!-- end of name -->` of the page.
///
/// # Errors
/// The page or its marks are missing, or it cannot be written.
pub fn write_section(name: &str, text: &str) -> Result<()> {
    let path = root().join("docs/speed.md");
    let page = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let page = with_section(&page, name, text)
        .with_context(|| format!("{} has no marks for {name}", path.display()))?;
    fs::write(&path, page).with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_marks() {
        let page = fs::read_to_string(root().join("docs/speed.md")).unwrap();
        for name in ["count", "mca"] {
            assert!(with_section(&page, name, "").is_some(), "{name}");
        }
    }
}
