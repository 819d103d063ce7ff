//! `docs/speed.md`: sections that commands write, between marks, in a page that people write.

use crate::workspace::root;
use anyhow::{Context, Result};
use std::fs;

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
    let start = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&start)?;
    let (_, after) = rest.split_once(&format!("<!-- end of {name} -->"))?;
    let text = text.trim_end();
    Some(format!(
        "{before}{start}{text}\n<!-- end of {name} -->{after}"
    ))
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
    }

    #[test]
    fn the_page_has_the_marks() {
        let page = fs::read_to_string(root().join("docs/speed.md")).unwrap();
        for name in ["count", "mca"] {
            assert!(with_section(&page, name, "").is_some(), "{name}");
        }
    }
}
