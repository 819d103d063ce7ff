//! `cargo xtask ci`: what must hold for a change to land.

use crate::voice::Voice;
use crate::workspace::{TARGET, cargo};
use crate::{audit, firmware, reproduce, setup, size, test};
use anyhow::{Context, Result, ensure};
use std::env;
use std::process::Command;
use std::time::Instant;

/// Packages that the board sees. With their version: a tool depends on another `console`.
const BOARD_PACKAGES: [&str; 8] = [
    "boot", "kernel", "console", "drivers", "images", "llm", "ops", "storage",
];
/// The others.
const HOST_PACKAGES: [&str; 5] = ["pilm", "qemu", "stdout", "tests", "xtask"];

/// A question to the default model, and the answer that 8-bit weights give at temperature 0.
const QUESTION: &str = "What is gravity?";
const ANSWER: &str = "Gravity is a fundamental concept in physics that describes the curvature of spacetime caused by the presence of mass. It's a";

/// Runs every check; the first failure ends it.
///
/// # Errors
/// A check fails.
pub fn ci() -> Result<()> {
    let start = Instant::now();
    let voice = Voice::new(false);
    setup::setup()?;
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
        "Documentation, host",
        of(&mut documentation(), &HOST_PACKAGES),
    )?;
    voice.run("Documentation, board", board(&mut documentation()))?;
    let firmware = firmware::build(voice)?;
    size::check(voice, &firmware)?;
    audit::audit()?;
    reproduce::check(voice, &firmware)?;
    test::test()?;
    ask_the_real_model(voice)?;
    voice.say(format!(
        "All checks hold ({} s).",
        start.elapsed().as_secs()
    ));
    Ok(())
}

/// What a person types first: `cargo xtask run --prompt … --quiet` prints the answer and nothing else.
fn ask_the_real_model(voice: Voice) -> Result<()> {
    voice.say("Asking the default model in QEMU");
    let output = Command::new(env::current_exe()?)
        .args(["run", "--prompt", QUESTION, "--max-tokens", "24", "--quiet"])
        .output()
        .context("xtask cannot be started a second time")?;
    let answer = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success() && answer == format!("{ANSWER}\n"),
        "the default model answers {answer:?}, not {ANSWER:?}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    voice.say(format!("{QUESTION} {ANSWER}"));
    Ok(())
}

fn documentation() -> Command {
    let mut command = cargo();
    // private items are documented, so that they may be linked to
    let flags = "-Dwarnings -Arustdoc::private_intra_doc_links";
    command.env("RUSTDOCFLAGS", flags);
    command.args(["doc", "--no-deps", "--document-private-items"]);
    command
}

fn board(command: &mut Command) -> &mut Command {
    of(command.args(["--target", TARGET]), &BOARD_PACKAGES)
}

fn of<'c>(command: &'c mut Command, packages: &[&str]) -> &'c mut Command {
    for package in packages {
        let version = env!("CARGO_PKG_VERSION");
        command.arg("--package").arg(format!("{package}@{version}"));
    }
    command
}
