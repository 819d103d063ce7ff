//! Circles between the files of a crate: A names an item of B, and B one of A.
//!
//! Re-exports are followed to the file that defines the item. Parent and child may name each other.

use super::modules::{CratePath, Module};
use std::collections::{BTreeMap, BTreeSet};

/// Re-exports of re-exports that are followed.
const MAX_HOPS: usize = 16;

/// Pairs of files that name each other, in the order of their names.
pub fn circles(modules: &[Module]) -> BTreeSet<(String, String)> {
    let by_path: BTreeMap<&CratePath, usize> = modules
        .iter()
        .enumerate()
        .map(|(i, module)| (&module.path, i))
        .collect();
    let mut edges = BTreeSet::new();
    for (from, module) in modules.iter().enumerate() {
        let globs = module
            .globs
            .iter()
            .filter_map(|glob| by_path.get(glob).copied());
        let items = module
            .named
            .iter()
            .filter_map(|path| definer(modules, &by_path, path, MAX_HOPS));
        edges.extend(
            globs
                .chain(items)
                .filter(|&to| to != from)
                .map(|to| (from, to)),
        );
    }
    let name = |i: usize| modules[i].file.display().to_string();
    edges
        .iter()
        .filter(|&&(a, b)| {
            a < b && edges.contains(&(b, a)) && !are_relatives(&modules[a], &modules[b])
        })
        .map(|&(a, b)| (name(a).min(name(b)), name(a).max(name(b))))
        .collect()
}

fn are_relatives(a: &Module, b: &Module) -> bool {
    let is_parent = |a: &Module, b: &Module| {
        b.path
            .split_last()
            .is_some_and(|(_, parent)| parent == a.path)
    };
    is_parent(a, b) || is_parent(b, a)
}

/// The module that defines what `path` names; `None` for a module itself and for other crates' items.
fn definer(
    modules: &[Module],
    by_path: &BTreeMap<&CratePath, usize>,
    path: &CratePath,
    hops: usize,
) -> Option<usize> {
    if by_path.contains_key(path) {
        return None;
    }
    let n_module = (0..path.len())
        .rev()
        .find(|&n| by_path.contains_key(&path[..n].to_vec()))?;
    let at = by_path[&path[..n_module].to_vec()];
    let hops = hops.checked_sub(1)?;
    if let Some(target) = modules[at].imports.get(&path[n_module]) {
        let target = target
            .iter()
            .chain(&path[n_module + 1..])
            .cloned()
            .collect();
        return definer(modules, by_path, &target, hops);
    }
    Some(at)
}
