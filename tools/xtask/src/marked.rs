//! Sections between the marks `<!-- name -->` and `<!-- end of name -->` of a page, which commands write.

/// The page with `text` between the marks `name`; `None` where it lacks them.
pub fn with_section(page: &str, name: &str, text: &str) -> Option<String> {
    let (before, _, after) = cut(page, name)?;
    let text = text.trim_end();
    Some(format!(
        "{before}<!-- {name} -->\n{text}\n<!-- end of {name} -->{after}"
    ))
}

/// The page before the marks, between them, and after them.
pub fn cut<'p>(page: &'p str, name: &str) -> Option<(&'p str, &'p str, &'p str)> {
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
}
