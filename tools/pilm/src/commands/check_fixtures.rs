//! `pilm check-fixtures DIR`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use llm::engine::LoadOptions;
use pilm::decoder::Decoder;
use pilm::parity::fixture::{Check, check};
use pilm::session::{Memory, Session};
use pilm::threads::Threads;

/// Compare tiny models with another implementation's logits, and broken ones with its mistakes.
#[derive(clap::Args)]
pub struct Args {
    /// Directory of fixtures: each a directory with a model and a golden.json.
    dir: PathBuf,
    /// Print a Markdown table.
    #[arg(long)]
    markdown: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let mut names: Vec<PathBuf> = fs::read_dir(&args.dir)
        .with_context(|| format!("opening {}", args.dir.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("config.json").exists() && path.join("golden.json").exists())
        .collect();
    names.sort_unstable();
    ensure!(!names.is_empty(), "{} has no fixtures", args.dir.display());
    if args.markdown {
        println!(
            "| model | sequence | comparison | value | demanded | |\n|---|---|---|---|---|---|"
        );
    }
    let (mut n, mut failed) = (0, 0);
    for path in names {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = if name.starts_with("qwen2") {
            "qwen"
        } else {
            "smol"
        };
        let tokenizer = args.dir.join(format!("tokenizer-bpe512-{kind}"));
        for found in check(&path, &tokenizer, &mut logits_of).with_context(|| name.to_string())? {
            print(&name, &found, args.markdown);
            n += 1;
            failed += usize::from(!found.passed);
        }
    }
    ensure!(failed == 0, "{failed} of {n} comparisons fail");
    if !args.markdown {
        println!("{n} comparisons pass");
    }
    Ok(())
}

/// Logits of all positions, by the engine with f32 keys and values.
fn logits_of(file: &[u8], ids: &[u32]) -> Result<Vec<f32>> {
    let options = LoadOptions {
        context_len: Some(ids.len()),
        kv_type: Some(llm::kv_cache::KvType::F32),
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

fn print(model: &str, check: &Check, markdown: bool) {
    let value = match check.value {
        v if v.fract() == 0.0 => v.to_string(),
        v if v < 1e-3 => format!("{v:.1e}"),
        v => format!("{v:.4}"),
    };
    let Check {
        sequence,
        what,
        limit,
        ..
    } = check;
    let verdict = if check.passed { "pass" } else { "FAIL" };
    if markdown {
        println!("| {model} | {sequence} | {what} | {value} | {limit} | {verdict} |");
    } else {
        println!("{model:16} {sequence:9} {what:30} {value:>8} {verdict} ({limit})");
    }
}
