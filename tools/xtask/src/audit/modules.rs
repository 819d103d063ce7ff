//! The modules of a crate, one per source file, and the paths by which they name each other.

use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Item, UseTree};

/// Segments of a path from the crate's root, `crate` left out.
pub type CratePath = Vec<String>;

/// A module that has a file of its own. Inline modules belong to the module around them.
#[derive(Debug)]
pub struct Module {
    /// Its source file.
    pub file: PathBuf,
    /// Where it stands in the crate.
    pub path: CratePath,
    /// Names that `use` brings in, with what they stand for.
    pub imports: BTreeMap<String, CratePath>,
    /// Modules whose items are all brought in.
    pub globs: Vec<CratePath>,
    /// Every path that it names.
    pub named: Vec<CratePath>,
}

/// The modules of the crate whose root file is `root`, tests left out.
///
/// # Errors
/// A file cannot be read, or is no Rust.
pub fn modules(root: &Path) -> Result<Vec<Module>> {
    let mut found = Vec::new();
    let folder = root.parent().context("a source file in no folder")?;
    read(root, folder, Vec::new(), &mut found)?;
    Ok(found)
}

fn read(file: &Path, children: &Path, path: CratePath, found: &mut Vec<Module>) -> Result<()> {
    let text =
        fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let parsed =
        syn::parse_file(&text).with_context(|| format!("{} is no Rust", file.display()))?;
    let mut scan = Scan {
        own: path.clone(),
        ..Scan::default()
    };
    scan.items(&parsed.items, &path);
    let mut module = Module {
        file: file.to_owned(),
        path: path.clone(),
        imports: BTreeMap::new(),
        globs: Vec::new(),
        named: Vec::new(),
    };
    let is_local = |name: &str| {
        let mut children = scan.children.iter().map(|(child, _)| child);
        children.any(|child| child == name) || scan.local.iter().any(|item| item == name)
    };
    for (base, segments, name) in &scan.uses {
        let Some(absolute) = absolute(segments, base, is_local) else {
            continue;
        };
        match name {
            Some(name) => {
                module.named.push(absolute.clone());
                module.imports.insert(name.clone(), absolute);
            }
            None => module.globs.push(absolute),
        }
    }
    for (base, segments) in &scan.raw {
        let imported = module.imports.get(&segments[0]).cloned();
        if let Some(mut start) = imported {
            start.extend(segments[1..].iter().cloned());
            module.named.push(start);
        } else if let Some(absolute) = absolute(segments, base, is_local) {
            module.named.push(absolute);
        }
    }
    found.push(module);
    for (child, explicit) in scan.children {
        let flat = children.join(format!("{child}.rs"));
        let nested = children.join(&child).join("mod.rs");
        let source = match (explicit, flat.is_file(), nested.is_file()) {
            (Some(explicit), ..) => file.with_file_name(explicit),
            (None, true, false) => flat,
            (None, false, true) => nested,
            _ => bail!(
                "{}: the file of module {child} is not where it belongs",
                file.display()
            ),
        };
        let path = path.iter().cloned().chain([child.clone()]).collect();
        read(&source, &children.join(&child), path, found)?;
    }
    Ok(())
}

/// `segments` as seen from module `base`, from the crate's root; `None` for another crate's.
fn absolute(
    segments: &[String],
    base: &CratePath,
    is_local: impl Fn(&str) -> bool,
) -> Option<CratePath> {
    let mut start = base.clone();
    let rest = match segments[0].as_str() {
        "crate" => {
            start.clear();
            &segments[1..]
        }
        "self" => &segments[1..],
        "super" => {
            let n_up = segments
                .iter()
                .take_while(|segment| *segment == "super")
                .count();
            start.truncate(start.len().checked_sub(n_up)?);
            &segments[n_up..]
        }
        name if is_local(name) => segments,
        _ => return None,
    };
    start.extend(rest.iter().cloned());
    Some(start)
}

/// What one file holds.
#[derive(Default)]
struct Scan {
    own: CratePath,
    /// Modules with files of their own, and where that is if not where it belongs.
    children: Vec<(String, Option<String>)>,
    /// Inline modules and types: heads of relative paths.
    local: Vec<String>,
    /// Paths of two or more segments, with the module that they stand in.
    raw: Vec<(CratePath, Vec<String>)>,
    /// `use` paths, with the name that they bind; none for a glob.
    uses: Vec<(CratePath, Vec<String>, Option<String>)>,
}

impl Scan {
    fn items(&mut self, items: &[Item], base: &CratePath) {
        for item in items.iter().filter(|item| !is_test(&attributes(item))) {
            match item {
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    match &module.content {
                        None => self.children.push((name, explicit_path(&module.attrs))),
                        Some((_, items)) => {
                            if *base == self.own {
                                self.local.push(name.clone());
                            }
                            let inner = base.iter().cloned().chain([name]).collect();
                            self.items(items, &inner);
                        }
                    }
                }
                item => self.tokens(item.to_token_stream(), base),
            }
        }
    }

    /// Collects paths and `use` declarations, inside functions and macros too.
    fn tokens(&mut self, tokens: TokenStream, base: &CratePath) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Group(group) => self.tokens(group.stream(), base),
                TokenTree::Ident(word) if *word == "use" => {
                    let end = trees[at..]
                        .iter()
                        .position(|tree| is_punct(tree, ';'))
                        .map_or(trees.len(), |len| at + len);
                    let tree: TokenStream = trees[at + 1..end].iter().cloned().collect();
                    // a closure's `use` bound is no declaration
                    if let Ok(tree) = syn::parse2::<UseTree>(tree) {
                        self.import(&tree, &mut Vec::new(), base);
                        at = end;
                    }
                }
                TokenTree::Ident(word) => {
                    let mut segments = vec![word.to_string()];
                    while let [colon, second, TokenTree::Ident(next), ..] = &trees[at + 1..]
                        && is_punct(colon, ':')
                        && is_punct(second, ':')
                    {
                        segments.push(next.to_string());
                        at += 3;
                    }
                    if segments.len() > 1 {
                        self.raw.push((base.clone(), segments));
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn import(&mut self, tree: &UseTree, prefix: &mut Vec<String>, base: &CratePath) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.import(&path.tree, prefix, base);
                prefix.pop();
            }
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.import(tree, prefix, base)),
            UseTree::Glob(_) if prefix.is_empty() => {}
            UseTree::Glob(_) => self.uses.push((base.clone(), prefix.clone(), None)),
            UseTree::Name(name) => self.bind(prefix, &name.ident.to_string(), None, base),
            UseTree::Rename(rename) => {
                self.bind(
                    prefix,
                    &rename.ident.to_string(),
                    Some(rename.rename.to_string()),
                    base,
                );
            }
        }
    }

    fn bind(&mut self, prefix: &[String], name: &str, renamed: Option<String>, base: &CratePath) {
        let mut segments = prefix.to_vec();
        if name != "self" || prefix.is_empty() {
            segments.push(name.to_owned());
        }
        let bound = renamed.or_else(|| segments.last().cloned());
        self.uses.push((base.clone(), segments, bound));
    }
}

fn is_punct(tree: &TokenTree, wanted: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn attributes(item: &Item) -> Vec<Attribute> {
    let parser = |input: ParseStream<'_>| {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<TokenStream>().map(|_| attributes)
    };
    parser.parse2(item.to_token_stream()).unwrap_or_default()
}

/// Whether an item exists in tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.to_token_stream().to_string().contains("(test)")
    })
}

/// The value of `#[path = "…"]`.
fn explicit_path(attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes
        .iter()
        .find(|attribute| attribute.path().is_ident("path"))?;
    let value = &attribute.meta.require_name_value().ok()?.value;
    let syn::Expr::Lit(literal) = value else {
        return None;
    };
    let syn::Lit::Str(path) = &literal.lit else {
        return None;
    };
    Some(path.value())
}
