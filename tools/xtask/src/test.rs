//! `cargo xtask test`: all tests, on the host and in QEMU.

use crate::voice::Voice;
use crate::workspace::{cargo, target_dir};
use anyhow::Result;
use std::process::Command;

/// Runs the unit tests of the host, loom's models of `parallel`, then the tests that boot QEMU.
///
/// # Errors
/// A test fails or does not build.
pub fn test() -> Result<()> {
    let voice = Voice::new(false);
    voice.show("Testing on the host", cargo().arg("test"))?;
    voice.show("Models of the cores", &mut models())?;
    voice.show(
        "Testing in QEMU",
        cargo().args(["test", "--package", "tests"]),
    )
}

/// Every order in which 2 and 3 cores may run, with loom's atomics. An output directory of its own: every crate is
/// built with the flag.
fn models() -> Command {
    let mut command = cargo();
    command
        .env("RUSTFLAGS", "--cfg loom")
        .args(["test", "--package", "parallel", "--lib"]);
    command.arg("--target-dir").arg(target_dir().join("loom"));
    command
}
