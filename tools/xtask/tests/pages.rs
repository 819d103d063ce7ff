//! What the pages for people say about blink codes, words, lines and times: the sources say the same.

use console::command;
use protocol::settings::Setting;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use xtask::workspace;

/// Lines in quotation marks that the board's firmware prints.
const FIRMWARE_LINES: [&str; 1] = ["This board requires newer software"];

fn text(path: &str) -> String {
    fs::read_to_string(workspace::root().join(path)).unwrap()
}

/// What is part of the firmware: the sources of `boot/` and `kernel/`, without those of tests.
fn firmware_sources() -> String {
    let mut all = String::new();
    let mut folders: Vec<PathBuf> = ["boot", "kernel"]
        .map(|name| workspace::root().join(name))
        .into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next();
                all.push_str(code.unwrap_or_default());
            }
        }
    }
    all
}

/// The rows of all tables of `page`, as cells.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
}

/// What stands between pairs of `mark` in `text`.
fn marked(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.split(mark).skip(1).step_by(2)
}

/// The value of a numeric constant.
fn number(source: &str, name: &str) -> u64 {
    let (_, rest) = source.split_once(&format!("const {name}: ")).unwrap();
    let (_, rest) = rest.split_once(" = ").unwrap();
    let digits: String = rest
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '_')
        .filter(|c| *c != '_')
        .collect();
    digits.parse().unwrap()
}

/// The option that `name` means, if it is a word of the kernel command line.
fn option(name: &str) -> Option<&str> {
    name.strip_prefix("board.")?.split('=').next()
}

/// The words of the kernel command line, without `board.` and without values: what the parser compares with.
fn words(options: &str) -> BTreeSet<&str> {
    let (_, parser) = options.split_once("match name {").unwrap();
    let (arms, _) = parser.split_once("_ => Err").unwrap();
    let arms = arms.lines().filter(|line| line.contains("\" => "));
    arms.filter_map(|arm| marked(arm, '"').next()).collect()
}

#[test]
fn every_blink_code_of_the_start_has_a_row_and_no_other() {
    let starts = ["boot/src/start.s", "boot/src/blink.s"].map(text);
    let codes: Vec<_> = starts
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| line.trim().strip_prefix("mov     x23, #"))
        .map(|code| code.trim().to_owned())
        .collect();
    let page = text("docs/flash.md");
    let rows: Vec<_> = rows(&page).filter(|row| row.len() == 4).collect();
    let shown: Vec<_> = rows
        .iter()
        .filter(|row| row[2] == "PiLM")
        .map(|row| {
            assert_eq!(row[0], "1", "blink.s blinks once long");
            row[1]
        })
        .collect();
    assert_eq!(shown, codes);
    let firmware: Vec<_> = rows
        .iter()
        .filter(|row| row[2] == "firmware")
        .map(|row| (row[0], row[1]))
        .collect();
    assert!(firmware.iter().all(|(long, _)| *long != "1"));
    let distinct: BTreeSet<_> = firmware.iter().collect();
    assert_eq!(distinct.len(), firmware.len());
    assert!(firmware.len() > 15, "{firmware:?}");
}

#[test]
fn every_word_of_the_kernel_command_line_is_on_its_page_and_no_other() {
    let options = text("kernel/src/options.rs");
    let words = words(&options);
    assert!(words.len() >= 6, "{words:?}");
    let page = text("docs/board.md");
    let cells: String = rows(&page)
        .filter(|row| row.len() == 2)
        .map(|row| row[0])
        .collect();
    for word in &words {
        let known = marked(&cells, '`').any(|name| option(name) == Some(word));
        assert!(known, "docs/board.md has no row for board.{word}");
    }
    for path in [
        "docs/board.md",
        "docs/flash.md",
        "CHANGELOG.md",
        "ARCHITECTURE.md",
    ] {
        let page = text(path);
        for name in marked(&page, '`').filter_map(option) {
            let is_other = matches!(name, "" | "md" | "rs");
            assert!(
                is_other || words.contains(name),
                "{path}: nothing reads board.{name}"
            );
        }
    }
}

#[test]
fn every_value_of_these_words_is_in_their_row() {
    let page = text("docs/board.md");
    let failures = text("kernel/src/failures.rs");
    let failures = failures
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `"));
    let modes = text("kernel/drivers/src/sd/card/modes.rs");
    let modes = modes
        .lines()
        .filter(|line| line.contains(" => self."))
        .map(|line| line.trim().trim_start_matches('"'));
    for (word, values) in [
        ("board.fail=", failures.collect::<Vec<_>>()),
        ("board.sd=", modes.collect()),
    ] {
        let start = format!("`{word}");
        let row = rows(&page)
            .map(|row| row[0])
            .find(|cell| cell.starts_with(&start))
            .unwrap();
        assert!(values.len() > 2, "{values:?}");
        for value in values {
            let name: String = value
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            let found = marked(row, '`').any(|shown| {
                let shown = shown.strip_prefix(word).unwrap_or(shown);
                shown.split('=').next() == Some(&name)
            });
            assert!(found, "docs/board.md: {word}{name} is not in {row}");
        }
    }
}

#[test]
fn every_line_in_quotation_marks_is_one_that_the_firmware_prints() {
    let sources = firmware_sources();
    let page = text("docs/flash.md");
    let mut n_lines = 0;
    for line in rows(&page).flat_map(|row| marked(row[0], '"').collect::<Vec<_>>()) {
        if FIRMWARE_LINES.contains(&line) {
            continue;
        }
        for piece in line.split('…') {
            assert!(sources.contains(piece.trim()), "nothing prints {line:?}");
        }
        n_lines += 1;
    }
    assert!(n_lines > 4, "{n_lines} lines");
}

#[test]
fn times_that_a_person_waits_for_are_those_of_the_sources() {
    let firmware = text("kernel/src/firmware.rs");
    let restart_s = number(&firmware, "BRING_UP_LIMIT_MS") / 1000;
    let stay_s = number(&text("kernel/src/panic.rs"), "STAY_US") / 1_000_000;
    let barrier_s = number(&firmware, "BARRIER_LIMIT_S");
    let flash = text("docs/flash.md");
    for said in [
        format!("lit again every {restart_s} s"),
        format!("else it restarts in {stay_s} s"),
        format!("a core that hangs is reported after {barrier_s}."),
    ] {
        assert!(flash.contains(&said), "docs/flash.md does not say {said:?}");
    }
    let board = text("docs/board.md");
    assert!(board.contains(&format!("ends the program: {barrier_s} (")));
}

#[test]
fn every_command_and_setting_of_the_console_has_a_row() {
    let page = text("docs/console.md");
    let cells: Vec<_> = rows(&page).map(|row| row[0].to_owned()).collect();
    for (usage, _) in command::help() {
        let cell = format!("`{usage}`");
        assert!(
            cells.contains(&cell),
            "docs/console.md has no row for {usage}"
        );
    }
    for setting in Setting::ALL {
        let cell = format!("`{}`", setting.key());
        assert!(
            cells.contains(&cell),
            "docs/console.md has no row for {cell}"
        );
    }
}
