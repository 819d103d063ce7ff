//! The word `unsafe` in the sources: how often, and in which file.

use crate::workspace::{files_below, read_text};
use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::path::Path;

/// Files that say `unsafe`, by their path from `root`, with how often: blocks, functions, implementations and
/// attributes, in macros too, but not in comments and strings.
///
/// # Errors
/// A file cannot be read, or is no Rust.
pub fn unsafe_sites(root: &Path) -> Result<BTreeMap<String, usize>> {
    let mut found = BTreeMap::new();
    for path in files_below(root)? {
        if path.extension().is_none_or(|kind| kind != "rs") {
            continue;
        }
        let name = path.strip_prefix(root)?.display().to_string();
        let tokens = syn::parse_str(&read_text(&path)?);
        let n_sites = count(tokens.with_context(|| format!("{name} is no Rust"))?);
        if n_sites > 0 {
            found.insert(name, n_sites);
        }
    }
    Ok(found)
}

fn count(tokens: TokenStream) -> usize {
    let sites = |tree| match tree {
        TokenTree::Ident(word) => usize::from(word == "unsafe"),
        TokenTree::Group(group) => count(group.stream()),
        _ => 0,
    };
    tokens.into_iter().map(sites).sum()
}

#[cfg(test)]
mod tests {
    fn count(text: &str) -> syn::Result<usize> {
        syn::parse_str(text).map(super::count)
    }

    #[test]
    fn words_of_the_language_count_and_others_do_not() {
        let text = "// unsafe\n/// unsafe\n#[unsafe(no_mangle)]\npub unsafe fn f() { let unsafe_code = \"unsafe\"; }\n\
                    macro_rules! m { () => { unsafe impl Send for S {} } }";
        assert_eq!(count(text).unwrap(), 3);
        assert_eq!(count("#![forbid(unsafe_code)] fn f() {}").unwrap(), 0);
        assert!(count("fn f( {").is_err());
    }
}
