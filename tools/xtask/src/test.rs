//! `cargo xtask test`: all tests, on the host and in QEMU.

use crate::voice::Voice;
use crate::workspace::{cargo, target_dir};
use anyhow::Result;

/// Runs the unit tests of the host, then the tests that boot QEMU.
///
/// # Errors
/// A test fails or does not build.
pub fn test() -> Result<()> {
    let voice = Voice::new(false);
    voice.show("Testing on the host", cargo().arg("test"))?;
    voice.show(
        "Testing in QEMU",
        cargo().args(["test", "--package", "tests"]),
    )
}

/// Runs the tests of faults: what is wrong with cards, files and lines, one at a time on boards that are up.
///
/// # Errors
/// A test fails or does not build.
pub fn faults(voice: Voice) -> Result<()> {
    let mut command = cargo();
    command.args(["test", "--package", "tests", "--test", "faults"]);
    voice.show("Faults in QEMU", &mut command)
}

/// Runs all random sessions of the console, of which `test` has a few.
///
/// # Errors
/// A session ends without an answer, or the test does not build.
pub fn sessions(voice: Voice) -> Result<()> {
    let mut command = cargo();
    command.args(["test", "--package", "pilm-console", "--test", "session"]);
    voice.show("Random sessions", command.args(["--", "--ignored"]))
}

/// Runs loom's models of `parallel`: every order in which 2 and 3 cores may run. An output directory of its own,
/// because every crate is built with the flag.
///
/// # Errors
/// An order is wrong, or the models do not build.
pub fn models(voice: Voice) -> Result<()> {
    let mut command = cargo();
    command
        .env("RUSTFLAGS", "--cfg loom")
        .args(["test", "--package", "parallel", "--lib"]);
    command.arg("--target-dir").arg(target_dir().join("loom"));
    voice.show("Models of the cores", &mut command)
}
