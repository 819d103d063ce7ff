//! Pages, entries of `docs/hardware.md` and links that the tree names: all of them exist.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::workspace;

/// What the ids of `docs/hardware.md` begin with.
const SUBJECTS: [&str; 14] = [
    "BOOT", "SMP", "MEM", "MMU", "UART", "SD", "MB", "CLK", "PM", "TIM", "GIC", "PMU", "RNG",
    "QEMU",
];

/// Names that look like an id.
const PRODUCTS: [&str; 1] = ["GIC-400"];

/// Pages of other projects.
const FOREIGN: [(&str, &str); 2] = [
    ("kernel/llm/src/gguf/mod.rs", "docs/gguf.md"),
    ("tools/pilm/src/gguf_writer/mod.rs", "docs/gguf.md"),
];

struct Text {
    path: PathBuf,
    text: String,
}

/// The texts below the root, paths from there.
fn texts() -> Vec<Text> {
    let root = workspace::root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let kind = path.extension().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "corpus" {
                    folders.push(path);
                }
            } else if ["rs", "s", "ld", "md", "txt"].contains(&kind.as_ref()) {
                found.push(Text {
                    text: fs::read_to_string(&path).unwrap(),
                    path: path.strip_prefix(&root).unwrap().to_owned(),
                });
            }
        }
    }
    found.retain(|text| text.path != Path::new("tools/xtask/tests/citations.rs"));
    found
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "md")
}

/// `ids` as `(subject, number)`, with what lies between the ends of `A-1 to A-4`.
fn ids(text: &str) -> Vec<(&str, u32)> {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .collect();
    let id = |word: &'_ str| -> Option<(usize, u32)> {
        let (subject, number) = word.split_once('-')?;
        let subject = SUBJECTS.iter().position(|known| *known == subject)?;
        let number = number.parse().ok()?;
        (!PRODUCTS.contains(&word)).then_some((subject, number))
    };
    let mut found = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let Some((subject, number)) = id(word) else {
            continue;
        };
        let first = match i.checked_sub(2).and_then(|start| id(words[start])) {
            Some((from, first)) if from == subject && words[i - 1] == "to" => first + 1,
            _ => number,
        };
        found.extend((first..=number).map(|number| (SUBJECTS[subject], number)));
    }
    found
}

/// Names that end in `.md`, with their folders as far as they are written.
fn pages(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_./".contains(c))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| word.ends_with(".md") && *word != ".md" && !word.starts_with('/'))
        .collect()
}

/// Targets of `[words](target)` that are no address of the web.
fn links(text: &str) -> Vec<&str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .filter(|target| !target.contains("://") && !target.contains(char::is_whitespace))
        .collect()
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    page.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

#[test]
fn every_cited_entry_exists() {
    let page = fs::read_to_string(workspace::root().join("docs/hardware.md")).unwrap();
    let mut entries: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for heading in page.lines().filter_map(|line| line.strip_prefix("### ")) {
        let first_word = heading.split(' ').next().unwrap_or_default();
        for (subject, number) in ids(first_word) {
            entries.entry(subject).or_default().push(number);
        }
    }
    for subject in SUBJECTS {
        let numbers = entries.get(subject).map_or(&[][..], Vec::as_slice);
        let expected: Vec<u32> = (1..=numbers.len().max(1)).map(|n| n as u32).collect();
        assert_eq!(numbers, expected, "docs/hardware.md, entries of {subject}");
    }
    let mut n_cited = 0;
    for Text { path, text } in texts() {
        for (subject, number) in ids(&text) {
            let known = entries[subject].contains(&number);
            assert!(
                known,
                "{} cites {subject}-{number}, which docs/hardware.md has not",
                path.display()
            );
            n_cited += usize::from(!is_markdown(&path));
        }
    }
    assert!(n_cited > 30, "{n_cited} citations found in sources");
}

#[test]
fn every_named_page_exists() {
    let root = workspace::root();
    let mut n_named = 0;
    for Text { path, text } in texts() {
        for page in pages(&text) {
            if FOREIGN
                .iter()
                .any(|(file, name)| path == Path::new(file) && page == *name)
            {
                continue;
            }
            let beside = root.join(&path).with_file_name(page);
            let beside_counts =
                is_markdown(&path) || text.contains(&format!("include_str!(\"{page}\")"));
            let found = root.join(page).is_file() || beside_counts && beside.is_file();
            assert!(found, "{} names {page}, which is not there", path.display());
            n_named += 1;
        }
    }
    assert!(n_named > 60, "{n_named} pages named");
}

#[test]
fn every_link_leads_somewhere() {
    let root = workspace::root();
    let mut n_links = 0;
    for Text { path, text } in texts() {
        if !is_markdown(&path) {
            continue;
        }
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => root.join(&path),
                _ => root.join(&path).with_file_name(file),
            };
            let at = path.display();
            assert!(target.exists(), "{at}: nothing is at {link}");
            if !anchor.is_empty() {
                let page = fs::read_to_string(&target).unwrap();
                let known = anchors(&page).iter().any(|known| known == anchor);
                assert!(known, "{at}: no heading for {link}");
            }
            n_links += 1;
        }
    }
    assert!(n_links > 10, "{n_links} links");
}

#[test]
fn ranges_of_ids_count_whole() {
    let text = "UART-1 to UART-3, GIC-400; SD-2 (MEM-1), UTF-8, SMP-1 to MMU-2";
    let expected = [
        ("UART", 1),
        ("UART", 2),
        ("UART", 3),
        ("SD", 2),
        ("MEM", 1),
        ("SMP", 1),
        ("MMU", 2),
    ];
    assert_eq!(ids(text), expected);
}

#[test]
fn anchors_are_those_of_github() {
    let page = "# A `start.s`, and more\n### SD-1 Controller\n";
    assert_eq!(anchors(page), ["a-starts-and-more", "sd-1-controller"]);
}
