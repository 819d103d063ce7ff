//! `pilm check-fixtures DIR`

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use llm::engine::LoadOptions;
use llm::kv_cache::KvType;
use llm::model_file::ModelFile;
use pilm::decoder::Decoder;
use pilm::parity::fixture::{self, Check, check};
use pilm::parity::tables;
use pilm::session::{Memory, Session};
use pilm::threads::Threads;

use super::output::{Format, print_json};

/// Compare tiny models with another implementation's logits, and broken ones with its mistakes.
#[derive(clap::Args)]
pub struct Args {
    /// Directory of fixtures: each a directory with a model and a golden.json.
    dir: PathBuf,
    #[command(flatten)]
    format: Format,
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
    let mut all = BTreeMap::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = if name.starts_with("qwen") {
            "qwen"
        } else {
            "smol"
        };
        let tokenizer = args.dir.join(format!("tokenizer-bpe512-{kind}"));
        let checks = check(&path, &tokenizer, &mut logits_of).with_context(|| name.to_string())?;
        if args.format.markdown {
            stdout::text!("{}", tables::fixture(&name, &checks))?;
        } else if !args.format.json {
            checks
                .iter()
                .try_for_each(|check| print_line(&name, check))?;
        }
        all.insert(name.into_owned(), checks);
    }
    if args.format.json {
        print_json(&all)?;
    }
    let (n, failed) = fixture::n_and_failed(&all);
    ensure!(failed == 0, "{failed} of {n} comparisons fail");
    if !args.format.json {
        stdout::line!("{n} comparisons pass.")?;
    }
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
    let mut file = ModelFile::open(file)?;
    let mut memory = Memory::for_model(&file, &options, &threads);
    let mut session = Session::load(&mut file, &mut memory, &options, threads, &mut |_, _| ())?;
    let mut all = Vec::new();
    session.prefill(ids, 0, &mut |_, logits| all.extend_from_slice(logits))?;
    Ok(all)
}

fn print_line(model: &str, check: &Check) -> Result<(), stdout::Error> {
    let verdict = if check.passed() { "pass" } else { "FAIL" };
    let (sequence, what) = (&check.sequence, check.what.name());
    stdout::line!(
        "{model:16} {sequence:9} {what:25} {:>8} {verdict} ({})",
        check.shown(),
        check.demand()
    )
}
