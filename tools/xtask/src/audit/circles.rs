//! Circles between the files of a crate: A names an item of B, and B one of A.
//!
//! Re-exports are followed to the file that defines the item. Parent and child may name each other.

use super::modules::Module;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Re-exports of re-exports that are followed.
const MAX_HOPS: usize = 16;

/// Pairs of files that name each other, in the order of their names; paths from `root`.
pub fn circles(modules: &[Module], root: &Path) -> BTreeSet<(String, String)> {
    let paths = modules.iter().map(|module| module.path.as_slice());
    let by_path: BTreeMap<&[String], usize> = paths.zip(0..).collect();
    let mut edges = BTreeSet::new();
    for (from, module) in modules.iter().enumerate() {
        let globs = module.globs.iter();
        let globs = globs.filter_map(|glob| by_path.get(glob.as_slice()).copied());
        let items = module.named.iter();
        let items = items.filter_map(|path| definer(modules, &by_path, path, MAX_HOPS));
        let others = globs.chain(items).filter(|&to| to != from);
        edges.extend(others.map(|to| (from, to)));
    }
    let name = |i: usize| {
        let file = &modules[i].file;
        file.strip_prefix(root)
            .unwrap_or(file)
            .display()
            .to_string()
    };
    let is_parent = |a: usize, b: usize| {
        let parent = modules[b].path.split_last().map(|(_, parent)| parent);
        parent == Some(&modules[a].path)
    };
    edges
        .iter()
        .filter(|&&(a, b)| a < b && edges.contains(&(b, a)))
        .filter(|&&(a, b)| !is_parent(a, b) && !is_parent(b, a))
        .map(|&(a, b)| (name(a).min(name(b)), name(a).max(name(b))))
        .collect()
}

/// The module that defines what `path` names; `None` for a module itself and for other crates' items.
fn definer(
    modules: &[Module],
    by_path: &BTreeMap<&[String], usize>,
    path: &[String],
    hops: usize,
) -> Option<usize> {
    if by_path.contains_key(path) {
        return None;
    }
    let mut lengths = (0..path.len()).rev();
    let (n_module, at) = lengths.find_map(|n| Some((n, *by_path.get(&path[..n])?)))?;
    let hops = hops.checked_sub(1)?;
    match modules[at].imports.get(&path[n_module]) {
        Some(target) => {
            let target = [target, &path[n_module + 1..]].concat();
            definer(modules, by_path, &target, hops)
        }
        None => Some(at),
    }
}
