//! `cargo xtask ci`: what must hold for a change to land.

use crate::voice::Voice;
use crate::workspace::{TARGET, cargo};
use crate::{firmware, reproduce, size, test};
use anyhow::Result;
use std::time::Instant;

/// Packages for the board: built, linted and documented for its target.
const BOARD_PACKAGES: [&str; 7] = [
    "boot", "kernel", "console", "drivers", "llm", "ops", "storage",
];

/// Runs every check; the first failure ends it.
///
/// # Errors
/// A check fails.
pub fn ci() -> Result<()> {
    let start = Instant::now();
    let voice = Voice::new(false);
    voice.run("Formatting", cargo().args(["fmt", "--all", "--check"]))?;
    voice.run(
        "Lints, host",
        cargo().args(["clippy", "--workspace", "--all-targets", "--", "-Dwarnings"]),
    )?;
    voice.run(
        "Lints, board",
        board(cargo().arg("clippy")).args(["--", "-Dwarnings"]),
    )?;
    voice.run(
        "Documentation",
        board(cargo().env("RUSTDOCFLAGS", "-Dwarnings").args([
            "doc",
            "--no-deps",
            "--document-private-items",
        ])),
    )?;
    let firmware = firmware::build(voice)?;
    size::check(voice, &firmware)?;
    reproduce::check(voice, &firmware)?;
    test::test()?;
    voice.say(format!(
        "All checks hold ({} s).",
        start.elapsed().as_secs()
    ));
    Ok(())
}

fn board(command: &mut std::process::Command) -> &mut std::process::Command {
    command.args(["--target", TARGET]);
    for package in BOARD_PACKAGES {
        command.args(["--package", package]);
    }
    command
}
