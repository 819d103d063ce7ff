//! The sizes of types beside those of the Python package `gguf`, ggml's own reader and writer.
//!
//! `cargo test -p pilm --test gguf_package -- --ignored`, where `python3` finds the package.

use ops::GgmlType;
use std::process::Command;

/// One line per type: id, name, elements and bytes of a block.
const PRINT_SIZES: &str = "from gguf import GGML_QUANT_SIZES as sizes
for kind, (length, size) in sizes.items(): print(kind.value, kind.name, length, size)";

#[test]
#[ignore = "needs Python with the package gguf"]
fn types_have_the_package_s_names_and_sizes() {
    let python = Command::new("python3")
        .args(["-c", PRINT_SIZES])
        .output()
        .unwrap();
    assert!(
        python.status.success(),
        "{}",
        String::from_utf8_lossy(&python.stderr)
    );
    let theirs = String::from_utf8(python.stdout).unwrap();
    let ours = |line: &str| {
        let id = line.split(' ').next()?.parse().ok()?;
        let found = GgmlType::from_id(id)?;
        Some(format!(
            "{id} {found} {} {}",
            found.block_len(),
            found.block_bytes()
        ))
    };
    let compared = theirs.lines().filter_map(|line| Some((line, ours(line)?)));
    let compared: Vec<_> = compared
        .inspect(|(theirs, ours)| assert_eq!(theirs, ours))
        .collect();
    assert!(compared.len() > 30, "{compared:?}");
    assert!(
        compared
            .iter()
            .any(|(theirs, _)| *theirs == "41 Q1_0 128 18")
    );
}
