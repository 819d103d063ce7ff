//! `cargo xtask test`: the tests, on the host and in QEMU; and those that are parts of `ci` by themselves.

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

/// Compares the default model in QEMU with the host's engine, bit by bit.
///
/// # Errors
/// The bits differ, or the test does not build.
pub fn default_model(voice: Voice) -> Result<()> {
    let mut command = cargo();
    command.args(["test", "--package", "tests", "--test", "default_model"]);
    voice.show("The default model in QEMU", &mut command)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::printed;
    use std::collections::BTreeSet;

    /// The packages that cargo builds, each with its features.
    fn packages(of: &[&str]) -> BTreeSet<String> {
        let mut tree = cargo();
        tree.args(["tree", "--prefix", "none", "--format", "{p} [{f}]"]);
        let tree = printed(tree.args(of)).unwrap();
        let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
        lines.map(String::from).collect()
    }

    #[test]
    fn no_library_is_built_again_for_the_tests() {
        let tests = packages(&["--edges", "normal,build,dev"]);
        for [edges, program] in [
            ["normal,build", "xtask"],
            ["normal,build", "pilm"],
            ["normal,build,dev", "tests"],
        ] {
            let built = packages(&["--edges", edges, "--package", program]);
            // the tests in QEMU are not among the default members
            let mut again = built
                .difference(&tests)
                .filter(|p| !p.starts_with("tests "));
            assert_eq!(again.next(), None, "{program}: with other features");
        }
    }
}
