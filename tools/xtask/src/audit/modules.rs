//! The modules of a crate, one per source file, and the paths by which they name each other.

use crate::workspace::read_text;
use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Ident, Item, LitStr, UseTree};

/// Segments of a path from the crate's root, `crate` left out.
pub type CratePath = Vec<String>;

/// A module that has a file of its own. Inline modules belong to the module around them.
#[derive(Debug, Default)]
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
    let parsed = syn::parse_file(&read_text(file)?);
    let parsed = parsed.with_context(|| format!("{} is no Rust", file.display()))?;
    let module = Module {
        file: file.to_owned(),
        path: path.clone(),
        ..Module::default()
    };
    let local = parsed.items.iter().filter_map(|item| match item {
        Item::Mod(module) if !is_test(item) => Some(module.ident.to_string()),
        _ => None,
    });
    let mut scan = Scan {
        local: local.collect(),
        module,
        children: Vec::new(),
        raw: Vec::new(),
    };
    scan.items(&parsed.items, &path);
    let Scan {
        mut module, local, ..
    } = scan;
    for (base, segments) in scan.raw {
        module.named.extend(match module.imports.get(&segments[0]) {
            Some(start) => Some([start, &segments[1..]].concat()),
            None => absolute(&segments, &base, &local),
        });
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

/// `segments` as seen from module `base` of a file with the modules `local`, from the crate's root; `None` for another
/// crate's.
fn absolute(segments: &[String], base: &[String], local: &[String]) -> Option<CratePath> {
    let n_up = segments.iter().take_while(|name| *name == "super").count();
    let (start, rest) = match segments[0].as_str() {
        "crate" => (&[][..], &segments[1..]),
        "self" => (base, &segments[1..]),
        "super" => (&base[..base.len().checked_sub(n_up)?], &segments[n_up..]),
        name if local.iter().any(|module| module == name) => (base, segments),
        _ => return None,
    };
    Some([start, rest].concat())
}

/// What one file holds.
struct Scan {
    module: Module,
    /// Its modules, inline or not: heads of relative paths.
    local: Vec<String>,
    /// Modules with files of their own, and where that is if not where it belongs.
    children: Vec<(String, Option<String>)>,
    /// Paths of two or more segments, with the module that they stand in.
    raw: Vec<(CratePath, Vec<String>)>,
}

impl Scan {
    fn items(&mut self, items: &[Item], base: &CratePath) {
        for item in items.iter().filter(|item| !is_test(item)) {
            match item {
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    match &module.content {
                        None => self.children.push((name, explicit_path(&module.attrs))),
                        Some((_, items)) => self.items(items, &[&base[..], &[name]].concat()),
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
                        self.import(&tree, &[], base);
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

    fn import(&mut self, tree: &UseTree, prefix: &[String], base: &CratePath) {
        let path = |name: &Ident| match name == "self" && !prefix.is_empty() {
            true => prefix.to_vec(),
            false => [prefix, &[name.to_string()]].concat(),
        };
        match tree {
            UseTree::Path(next) => self.import(&next.tree, &path(&next.ident), base),
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.import(tree, prefix, base)),
            UseTree::Glob(_) if prefix.is_empty() => {}
            UseTree::Glob(_) => {
                let path = absolute(prefix, base, &self.local);
                self.module.globs.extend(path);
            }
            UseTree::Name(name) => {
                let path = path(&name.ident);
                self.bind(path.last().cloned(), &path, base);
            }
            UseTree::Rename(rename) => {
                self.bind(Some(rename.rename.to_string()), &path(&rename.ident), base);
            }
        }
    }

    fn bind(&mut self, name: Option<String>, segments: &[String], base: &CratePath) {
        if let Some((name, path)) = name.zip(absolute(segments, base, &self.local)) {
            self.module.named.push(path.clone());
            self.module.imports.insert(name, path);
        }
    }
}

fn is_punct(tree: &TokenTree, wanted: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// Whether an item exists in tests only.
fn is_test(item: &Item) -> bool {
    let parser = |input: ParseStream<'_>| {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<TokenStream>().map(|_| attributes)
    };
    let attributes = parser.parse2(item.to_token_stream()).unwrap_or_default();
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
    let path: LitStr = syn::parse2(value.to_token_stream()).ok()?;
    Some(path.value())
}
