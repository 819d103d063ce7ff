//! The table of `docs/hardware.md` that says where each entry is in the code and which tests it has: all names exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use xtask::workspace;

const TABLE: &str = "\n## Where it is in the code\n";
/// Begins a cell that has no names; the reason follows.
const NONE: &str = "none: ";

fn page() -> String {
    fs::read_to_string(workspace::root().join("docs/hardware.md")).unwrap()
}

/// The rows of the table: entry, code, tests.
fn rows(page: &str) -> Vec<[&str; 3]> {
    let (_, table) = page.split_once(TABLE).unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        cells.try_into().unwrap_or_else(|cells| panic!("{cells:?}"))
    })
    .collect()
}

/// The names of a cell; nothing where it gives a reason for having none.
fn names(cell: &str) -> Vec<&str> {
    if let Some(reason) = cell.strip_prefix(NONE) {
        assert!(reason.len() > 8, "no reason: {cell}");
        return Vec::new();
    }
    let names = cell.split(", ");
    names
        .map(|name| {
            let inner = name
                .strip_prefix('`')
                .and_then(|name| name.strip_suffix('`'));
            inner.unwrap_or_else(|| panic!("{cell} is neither names nor a reason"))
        })
        .collect()
}

/// Whether the text of a file of `kind` defines `name`.
fn defines(kind: &str, text: &str, name: &str) -> bool {
    let starts = |word: &str, ends: &[char]| {
        text.match_indices(word).any(|(at, _)| {
            let rest = text[at + word.len()..].strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(ends))
        })
    };
    match kind {
        "rs" => starts("fn ", &['(', '<']) || starts("const ", &[':']) || starts("static ", &[':']),
        "s" => text
            .lines()
            .any(|line| line.strip_suffix(':') == Some(name)),
        _ => text.contains(name),
    }
}

/// The sources below the root.
fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![workspace::root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(".rs") {
                found.push(path);
            }
        }
    }
    found
}

/// The functions of `text` that `#[test]` stands over.
fn tests_of(text: &str) -> Vec<&str> {
    let after = text.split("#[test]\n").skip(1);
    after
        .filter_map(|rest| {
            let (_, rest) = rest.split_once("fn ")?;
            Some(rest.split_once('(')?.0)
        })
        .collect()
}

#[test]
fn every_entry_has_one_row() {
    let page = page();
    let headings = page.lines().filter_map(|line| line.strip_prefix("### "));
    let entries: Vec<_> = headings
        .map(|heading| heading.split(' ').next().unwrap())
        .filter(|word| word.contains('-'))
        .collect();
    let rows: Vec<_> = rows(&page).iter().map(|row| row[0]).collect();
    assert_eq!(rows, entries);
    assert!(entries.len() > 70);
}

#[test]
fn every_place_in_the_code_exists() {
    let page = page();
    let mut n_places = 0;
    for [entry, code, _] in rows(&page) {
        for place in names(code) {
            let (path, name) = place.split_once("::").unwrap();
            let text = fs::read_to_string(workspace::root().join(path))
                .unwrap_or_else(|error| panic!("{entry}: {path}: {error}"));
            let kind = path.rsplit_once('.').unwrap().1;
            assert!(defines(kind, &text, name), "{entry}: {path} has no {name}");
            n_places += 1;
        }
    }
    assert!(n_places > 80, "{n_places} places");
}

#[test]
fn every_named_test_exists() {
    let texts: Vec<_> = sources()
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let known: BTreeSet<&str> = texts.iter().flat_map(|text| tests_of(text)).collect();
    let page = page();
    let mut n_tests = 0;
    for [entry, _, tests] in rows(&page) {
        for name in names(tests) {
            assert!(known.contains(name), "{entry}: there is no test {name}");
            n_tests += 1;
        }
    }
    assert!(n_tests > 70, "{n_tests} tests");
}

#[test]
fn a_name_that_only_begins_alike_or_is_called_is_no_definition() {
    let text = "fn start(\npub const START: u32\nother::begin(";
    for (name, is_there) in [
        ("start", true),
        ("star", false),
        ("START", true),
        ("begin", false),
    ] {
        assert_eq!(defines("rs", text, name), is_there, "{name}");
    }
    assert!(defines("s", "_start:\n    b 1f", "_start"));
    assert!(!defines("s", "    b _start", "_start"));
    assert_eq!(tests_of("#[test]\nfn a() {}\nfn b() {}"), ["a"]);
}
