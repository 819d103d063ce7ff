//! The sizes of the types that matrices can have beside those of the Python package `gguf`.
//!
//! `cargo test -p pilm --test gguf_package -- --ignored`, where `python3` finds the package.

use ops::Matrix;
use std::process::Command;

/// One line per type: id, name, elements and bytes of a block.
const PRINT_SIZES: &str = "from gguf import GGML_QUANT_SIZES as sizes
for kind, (length, size) in sizes.items(): print(kind.value, kind.name, length, size)";

#[test]
#[ignore = "needs Python with the package gguf"]
fn types_have_the_package_s_names_and_sizes() {
    let mut python = Command::new("python3");
    let found = python.args(["-c", PRINT_SIZES]).output().unwrap();
    assert!(
        found.status.success(),
        "{}",
        String::from_utf8_lossy(&found.stderr)
    );
    let theirs = String::from_utf8(found.stdout).unwrap();
    for ours in Matrix::TYPES {
        let sizes = (ours.block_len(), ours.block_bytes());
        let line = format!("{} {ours} {} {}", ours.id(), sizes.0, sizes.1);
        assert!(
            theirs.lines().any(|theirs| theirs == line),
            "{line} is not in\n{theirs}"
        );
    }
}
