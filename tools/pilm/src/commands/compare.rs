//! `pilm compare A B`

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use pilm::compare::{Log, compare, words};

/// Compare two logs of the laboratory, cell by cell
#[derive(clap::Args)]
pub struct Args {
    /// Log of the first machine: JSON lines.
    first: PathBuf,
    /// Log of the second.
    second: PathBuf,
}

fn read(path: &Path) -> Result<Log> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("reading {name}"))?;
    Log::parse(&text).with_context(|| name.to_string())
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let lines = compare(&read(&args.first)?, &read(&args.second)?);
    ensure!(!lines.is_empty(), "the logs have no cell in common");
    stdout::line!(
        "| cell | blocks | logits | speed, second ÷ first (95 %) | p (Holm) | second is |\n|---|---|---|---|---|---|"
    )?;
    for line in lines {
        let logits = match line.same_work {
            Some(true) => "equal",
            Some(false) => "DIFFER",
            None => "unknown",
        };
        let ratio = line.ratio.map_or("–".into(), |r| {
            format!("{:.3} ({:.3} to {:.3})", r.estimate, r.low, r.high)
        });
        let p = line.p.map_or("–".into(), |p| format!("{p:.4}"));
        stdout::line!(
            "| {} | {} | {logits} | {ratio} | {p} | {} |",
            line.cell,
            line.n,
            words(line.difference)
        )?;
    }
    Ok(())
}
