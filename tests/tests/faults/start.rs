//! What is wrong with settings at the start.

use crate::board::boot_text;
use std::sync::OnceLock;
use xtask::card::CardFile;

/// What a board says that starts with faults in both places of settings.
fn with_faults() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let options =
            b"\xEF\xBB\xBF# settings\nnonsense\nheat = 9\ntemperature = hot\ncaf\xE9 = 1\n";
        let files = [CardFile::bytes("pilm.txt", *options)];
        boot_text(&files, "pilm.top_k=many pilm.oops=1 pilm.system=\"open")
    })
}

/// The only row that begins with `start`.
fn row(start: &str) -> &'static str {
    let rows: Vec<_> = with_faults()
        .lines()
        .filter(|row| row.starts_with(start))
        .collect();
    assert_eq!(rows.len(), 1, "{start}:\n{}", with_faults());
    rows[0]
}

#[test]
fn a_line_of_settings_without_a_value() {
    assert_eq!(
        row("pilm.txt: line "),
        "pilm.txt: line 2 is not NAME = VALUE"
    );
}

#[test]
fn a_setting_of_the_file_that_does_not_exist() {
    row("pilm.txt: no setting is called \"heat\"; there are ");
}

#[test]
fn a_setting_of_the_file_that_is_no_text() {
    row("pilm.txt: no setting is called \"caf\u{FFFD}\"; there are ");
}

#[test]
fn a_value_of_the_file_that_a_setting_cannot_have() {
    let line = "pilm.txt: temperature cannot be \"hot\": it takes a number from 0 to 5, or default";
    assert_eq!(row("pilm.txt: temperature "), line);
}

#[test]
fn a_setting_of_the_command_line_that_does_not_exist() {
    row("kernel command line: no setting is called \"oops\"; there are ");
}

#[test]
fn a_value_of_the_command_line_that_a_setting_cannot_have() {
    let line = "kernel command line: top_k cannot be \"many\": it takes a whole number; 0 is all";
    assert_eq!(row("kernel command line: top_k "), line);
}

#[test]
fn a_quote_of_the_command_line_that_nothing_closes() {
    let line = "kernel command line: pilm.system=\"open begins a quote that nothing closes: it is left out";
    assert_eq!(row("kernel command line: pilm.system"), line);
}

#[test]
fn a_file_of_settings_longer_than_is_read() {
    let files = [CardFile::bytes("pilm.txt", vec![b'#'; (64 << 10) + 1])];
    let text = boot_text(&files, "");
    let line = "pilm.txt has 65537 bytes: no more than 65536 are read, shorten it";
    assert_eq!(text.matches(line).count(), 1, "{text}");
}

/// The model that is to be loaded at the start.
#[test]
fn a_model_of_the_settings_that_is_not_there() {
    let files = [CardFile::bytes("pilm.txt", *b"model = other\n")];
    let text = boot_text(&files, "");
    let line = "no model file is called \"other\"; there are Tiny.Q8_0.gguf";
    assert_eq!(text.matches(line).count(), 1, "{text}");
}
