//! Logits of seeded models, bit by bit, against the checksums in `tests/goldens.json`.
//!
//! What is recorded stays: `cargo test -p pilm --test goldens record -- --ignored` adds the entries that the
//! file lacks and changes none.

mod file;
mod matrix;

use file::{Golden, path, read, write};
use matrix::{Case, cases};
use pilm::architecture::Architecture;
use pilm::synth::bytes;

/// Fewer would be no matrix.
const MIN_ENTRIES: usize = 100;

/// Every case's golden, computed now on `n_cores` threads. A model is made once for all of its cases.
fn goldens<'c>(cases: impl IntoIterator<Item = &'c Case>, n_cores: usize) -> Vec<Golden> {
    let mut model: Option<(&Case, Vec<u8>)> = None;
    let mut goldens = Vec::new();
    for case in cases {
        let file = match model.take() {
            Some((of, file)) if of.has_model_of(case) => file,
            _ => bytes(&case.shape, case.ggml_type),
        };
        goldens.push(case.golden(&file, n_cores));
        model = Some((case, file));
    }
    goldens
}

/// Says which entries of `found` are not as recorded.
fn differences(found: &[Golden], recorded: &[Golden]) -> Vec<String> {
    let mut lines = Vec::new();
    for found in found {
        match recorded.iter().find(|recorded| recorded.is_of_case(found)) {
            None => lines.push(format!("{found}: not recorded")),
            Some(recorded) if recorded != found => lines.push(format!(
                "{found}: recorded prefill {}, decode {}",
                recorded.prefill, recorded.decode
            )),
            Some(_) => {}
        }
    }
    lines
}

fn assert_as_recorded(found: &[Golden]) {
    let lines = differences(found, &read());
    assert!(
        lines.is_empty(),
        "{} of {} entries of {} moved:\n{}",
        lines.len(),
        found.len(),
        path().display(),
        lines.join("\n")
    );
}

/// One test for each, so that they run at once.
fn assert_architecture(architecture: Architecture) {
    let mut cases = cases();
    cases.retain(|case| case.shape.architecture == architecture);
    assert!(!cases.is_empty());
    assert_as_recorded(&goldens(&cases, 1));
}

#[test]
fn every_llama_entry_has_its_recorded_bits() {
    assert_architecture(Architecture::Llama);
}

#[test]
fn every_qwen2_entry_has_its_recorded_bits() {
    assert_architecture(Architecture::Qwen2);
}

#[test]
fn every_qwen3_entry_has_its_recorded_bits() {
    assert_architecture(Architecture::Qwen3);
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let cases = cases();
    assert_as_recorded(&goldens(cases.iter().step_by(7), 4));
}

#[test]
fn the_file_has_each_case_once_and_nothing_else() {
    let (recorded, cases) = (read(), cases());
    assert!(cases.len() >= MIN_ENTRIES, "{} cases", cases.len());
    for case in &cases {
        let count = recorded.iter().filter(|golden| case.is_of(golden)).count();
        assert_eq!(count, 1, "entries of {case}");
    }
    assert_eq!(recorded.len(), cases.len(), "entries without a case");
}

/// Generations that promise the same bits have the same entries.
#[test]
fn scalar_and_tuned_entries_are_equal() {
    let recorded = read();
    let scalar = recorded.iter().filter(|golden| golden.kernels == "scalar");
    let mut count = 0;
    for scalar in scalar {
        let tuned = Golden {
            kernels: "tuned".to_owned(),
            ..scalar.clone()
        };
        assert!(recorded.contains(&tuned), "{scalar}: tuned differs");
        count += 1;
    }
    assert_eq!(count * 3, recorded.len());
}

#[test]
#[ignore = "writes to the tree: adds the entries that the file lacks"]
fn record() {
    let mut recorded = read();
    let cases = cases();
    let is_missing = |case: &&Case| !recorded.iter().any(|golden| case.is_of(golden));
    let missing: Vec<&Case> = cases.iter().filter(is_missing).collect();
    let added = goldens(missing, 1);
    println!("{} entries kept, {} added", recorded.len(), added.len());
    recorded.extend(added);
    write(&recorded);
}
