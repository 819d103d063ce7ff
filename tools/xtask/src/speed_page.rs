//! `docs/speed.md`: sections that commands write, between marks, in a page that people write.

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

fn with_section(page: &str, name: &str, text: &str) -> Option<String> {
    let (before, _, after) = cut(page, name)?;
    let text = text.trim_end();
    Some(format!(
        "{before}<!-- {name} -->\n{text}\n<!-- end of {name} -->{after}"
    ))
}

/// The page before the marks, between them, and after them.
fn cut<'p>(page: &'p str, name: &str) -> Option<(&'p str, &'p str, &'p str)> {
    let (before, rest) = page.split_once(&format!("<!-- {name} -->\n"))?;
    let (text, after) = rest.split_once(&format!("<!-- end of {name} -->"))?;
    Some((before, text, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_the_rest_stays() {
        let page = "# Speed\n<!-- count -->\nold\n<!-- end of count -->\nend\n";
        assert_eq!(
            with_section(page, "count", "new\n").unwrap(),
            "# Speed\n<!-- count -->\nnew\n<!-- end of count -->\nend\n"
        );
        assert_eq!(with_section(page, "mca", "new"), None);
        assert_eq!(cut(page, "count").unwrap().1, "old\n");
    }

    #[test]
    fn the_page_has_the_marks() {
        let page = fs::read_to_string(root().join("docs/speed.md")).unwrap();
        for name in ["count", "mca"] {
            assert!(with_section(&page, name, "").is_some(), "{name}");
        }
    }
}
