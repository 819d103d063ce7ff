//! `pilm check-fixtures DIR`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use llm::engine::LoadOptions;
use llm::kv_cache::KvType;
use pilm::decoder::Decoder;
use pilm::parity::fixture::{Check, What, check};
use pilm::session::{Memory, Session};
use pilm::threads::Threads;

/// Compare tiny models with another implementation's logits, and broken ones with its mistakes.
#[derive(clap::Args)]
pub struct Args {
    /// Directory of fixtures: each a directory with a model and a golden.json.
    dir: PathBuf,
    /// Print a Markdown table per model.
    #[arg(long)]
    markdown: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let mut paths: Vec<PathBuf> = fs::read_dir(&args.dir)
        .with_context(|| format!("opening {}", args.dir.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("config.json").exists() && path.join("golden.json").exists())
        .collect();
    paths.sort_unstable();
    ensure!(!paths.is_empty(), "{} has no fixtures", args.dir.display());
    let (mut n, mut failed) = (0, 0);
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = if name.starts_with("qwen") {
            "qwen"
        } else {
            "smol"
        };
        let tokenizer = args.dir.join(format!("tokenizer-bpe512-{kind}"));
        let checks = check(&path, &tokenizer, &mut logits_of).with_context(|| name.to_string())?;
        if args.markdown {
            print_table(&name, &checks)?;
        } else {
            checks
                .iter()
                .try_for_each(|check| print_line(&name, check))?;
        }
        n += checks.len();
        failed += checks.iter().filter(|check| !check.passed()).count();
    }
    ensure!(failed == 0, "{failed} of {n} comparisons fail");
    stdout::line!("{n} comparisons pass.")?;
    Ok(())
}

/// Logits of all positions, by the engine with f32 keys and values.
fn logits_of(file: &[u8], ids: &[u32]) -> Result<Vec<f32>> {
    let options = LoadOptions {
        context_len: Some(ids.len()),
        kv_type: Some(KvType::F32),
        n_logits: 32,
        ..LoadOptions::default()
    };
    let threads = Threads::new(1);
    let mut memory = Memory::for_model(&mut &file[..], &options, &threads)?;
    let mut session = Session::load(
        &mut &file[..],
        &mut memory,
        &options,
        threads,
        &mut |_, _| (),
    )?;
    let mut all = Vec::new();
    session.prefill(ids, 0, &mut |_, logits| all.extend_from_slice(logits))?;
    Ok(all)
}

fn shown(check: &Check) -> String {
    match check.what {
        What::Difference => format!("{:.1e}", check.value),
        What::OtherArgmax => check.value.to_string(),
        What::Q8_0 | What::Mistake(_) => format!("{:.4}", check.value),
    }
}

fn print_line(model: &str, check: &Check) -> Result<(), stdout::Error> {
    let verdict = if check.passed() { "pass" } else { "FAIL" };
    let (sequence, what) = (&check.sequence, check.what.name());
    stdout::line!(
        "{model:16} {sequence:9} {what:25} {:>8} {verdict} ({})",
        shown(check),
        check.demand()
    )
}

/// One row per comparison, one column per sequence; a mistake's cell has the other
/// implementation's cosine and argmax share in brackets.
fn print_table(model: &str, checks: &[Check]) -> Result<(), stdout::Error> {
    let mut sequences: Vec<&str> = checks.iter().map(|c| c.sequence.as_str()).collect();
    sequences.sort_unstable();
    sequences.dedup();
    stdout::line!("**{model}**\n\n| comparison | {} |", sequences.join(" | "))?;
    stdout::line!("|---{}|", "|---".repeat(sequences.len()))?;
    let mut seen: Vec<What> = Vec::new();
    for what in checks.iter().map(|c| c.what) {
        if seen.contains(&what) {
            continue;
        }
        seen.push(what);
        let cells = sequences.iter().map(|sequence| {
            let found = checks
                .iter()
                .find(|c| c.what == what && c.sequence == *sequence);
            found.map_or(String::new(), cell)
        });
        stdout::line!(
            "| {} | {} |",
            what.name(),
            cells.collect::<Vec<_>>().join(" | ")
        )?;
    }
    stdout::line!()
}

fn cell(check: &Check) -> String {
    let theirs = check.theirs.map_or(String::new(), |theirs| {
        format!(" ({:.4}, {:.3})", theirs.cosine, theirs.argmax_share)
    });
    let failed = if check.passed() { "" } else { " **FAIL**" };
    format!("{}{theirs}{failed}", shown(check))
}
