//! `cargo xtask ci`: what must hold for a change to land.

use crate::voice::Voice;
use crate::workspace::{TARGET, cargo};
use crate::{audit, firmware, reproduce, setup, size, test};
use anyhow::{Context, Result, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::process::Command;
use std::time::Instant;

/// Packages that the board sees. With their version: a tool depends on another `console`.
const BOARD_PACKAGES: [&str; 12] = [
    "boot",
    "kernel",
    "pilm-console",
    "drivers",
    "images",
    "lab",
    "llm",
    "ops",
    "parallel",
    "protocol",
    "session",
    "storage",
];
/// The others.
const HOST_PACKAGES: [&str; 6] = ["link", "pilm", "qemu", "stdout", "tests", "xtask"];

/// A question to the default model, and the answer that 8-bit weights give at temperature 0.
const QUESTION: &str = "What is gravity?";
const ANSWER: &str = "Gravity is a fundamental concept in physics that describes the curvature of \
                      spacetime caused by the presence of mass. It's a";

/// A named check.
type Part = (&'static str, fn(Voice) -> Result<()>);

/// What `ci` runs, in this order; `test` is README's command.
const PARTS: [Part; 13] = [
    ("setup", |_| setup::setup()),
    ("format", format),
    ("lint", lint),
    ("doc", doc),
    ("size", |voice| size::check(voice, &firmware::build(voice)?)),
    ("audit", |_| audit::audit()),
    ("reproduce", |voice| {
        reproduce::check(voice, &firmware::build(voice)?)
    }),
    ("test", |_| test::test()),
    ("faults", test::faults),
    ("sessions", test::sessions),
    ("models", test::models),
    ("default-model", test::default_model),
    ("ask", ask_the_real_model),
];

/// What to run.
#[derive(Args, Debug)]
pub struct Options {
    /// Run this part alone.
    #[arg(long, value_name = "PART", value_parser = PossibleValuesParser::new(PARTS.map(|(name, _)| name)))]
    only: Option<String>,
}

/// Runs every part, or the one that is asked for; the first failure ends it.
///
/// # Errors
/// A part fails.
pub fn ci(options: &Options) -> Result<()> {
    let voice = Voice::new(false);
    let mut seconds = Vec::new();
    for (name, part) in PARTS {
        if options.only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let start = Instant::now();
        part(voice).with_context(|| format!("part {name} of ci"))?;
        seconds.push((name, start.elapsed().as_secs()));
    }
    voice.say(table(&seconds));
    Ok(())
}

/// The seconds of each part, and of all.
fn table(seconds: &[(&str, u64)]) -> String {
    let lines = seconds.iter();
    let mut text: String = lines
        .map(|(name, s)| format!("{name:<14}{s:>6} s\n"))
        .collect();
    let total: u64 = seconds.iter().map(|(_, seconds)| seconds).sum();
    let checks = if seconds.len() == PARTS.len() {
        "All checks hold"
    } else {
        "It holds"
    };
    text.push_str(&format!("{checks} ({total} s)."));
    text
}

fn format(voice: Voice) -> Result<()> {
    voice.run("Formatting", cargo().args(["fmt", "--all", "--check"]))
}

fn lint(voice: Voice) -> Result<()> {
    voice.run(
        "Lints, host",
        cargo().args(["clippy", "--workspace", "--all-targets", "--", "-Dwarnings"]),
    )?;
    // not among all targets: they are no part of `cargo test`
    let mut apart = cargo();
    apart.args(["clippy", "--package", "tests"]);
    for test in ["faults", "default_model", "soak"] {
        apart.args(["--test", test]);
    }
    voice.run("Lints, tests apart", apart.args(["--", "-Dwarnings"]))?;
    voice.run(
        "Lints, board",
        board(cargo().arg("clippy")).args(["--", "-Dwarnings"]),
    )
}

fn doc(voice: Voice) -> Result<()> {
    voice.run(
        "Documentation, host",
        of(&mut documentation(), &HOST_PACKAGES),
    )?;
    voice.run("Documentation, board", board(&mut documentation()))
}

/// What a person types first: `cargo xtask run --prompt … --quiet` prints the answer and nothing else. Cargo starts
/// it: the tests before may have built xtask anew, over the file of this very program.
fn ask_the_real_model(voice: Voice) -> Result<()> {
    voice.say("Asking the default model in QEMU");
    let output = cargo()
        .args(["xtask", "run", "--prompt", QUESTION])
        .args(["--max-tokens", "24", "--quiet"])
        .output()
        .context("cargo cannot be started")?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;
    use clap::{Command as Parser, FromArgMatches};
    use std::fs;

    fn parse(part: &str) -> Result<Options, clap::Error> {
        let parser = Options::augment_args(Parser::new("ci"));
        Options::from_arg_matches(&parser.try_get_matches_from(["ci", "--only", part])?)
    }

    #[test]
    fn a_part_is_known_by_its_name_and_an_unknown_one_lists_all() {
        assert_eq!(parse("lint").unwrap().only.as_deref(), Some("lint"));
        let error = parse("lints").unwrap_err().to_string();
        for (name, _) in PARTS {
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn the_table_has_each_part_and_the_sum() {
        let text = table(&[("lint", 12), ("test", 100)]);
        assert!(text.contains("lint              12 s\ntest             100 s\n"));
        assert!(text.ends_with("It holds (112 s)."));
        let all = PARTS.map(|(name, _)| (name, 1));
        assert!(table(&all).ends_with(&format!("All checks hold ({} s).", PARTS.len())));
    }

    #[test]
    fn the_workflow_runs_every_part_and_no_other() {
        let workflow = fs::read_to_string(root().join(".github/workflows/ci.yml")).unwrap();
        let matrix = workflow
            .lines()
            .find_map(|line| line.trim().strip_prefix("part: [")?.strip_suffix(']'))
            .unwrap();
        let parts: Vec<_> = matrix.split(", ").collect();
        assert_eq!(parts, PARTS.map(|(name, _)| name));
        assert!(workflow.contains("\n      - run: cargo xtask ci --only ${{ matrix.part }}\n"));
    }
}
