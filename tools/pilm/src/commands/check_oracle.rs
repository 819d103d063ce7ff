//! `pilm check-oracle DIR MODEL`

use std::path::PathBuf;

use anyhow::{Result, ensure};
use llm::engine::LoadOptions;
use llm::kv_cache::KvType;
use ops::GgmlType;
use pilm::parity::{Gates, Golden, JudgedPrompt, compare, tables};
use pilm::session::Session;

use super::model::{ModelArgs, parse_kv, read_header, with_session};
use super::output::{Format, print_json};

/// Compare a model with another implementation's stored results.
///
/// F32 models must agree but for rounding; others must agree where the stored results are no
/// toss-up, and with --base stay within a mean KL divergence.
#[derive(clap::Args)]
pub struct Args {
    /// Directory with golden.json.
    dir: PathBuf,
    #[command(flatten)]
    model: ModelArgs,
    /// The same model in F32, for the KL divergence.
    #[arg(long)]
    base: Option<PathBuf>,
    /// How keys and values are stored; f32 for F32 models and the base, f16 for others when absent.
    #[arg(long, value_name = "f32|f16|int8", value_parser = parse_kv)]
    kv: Option<KvType>,
    #[command(flatten)]
    format: Format,
    /// Only the prompts with this in their names.
    #[arg(long)]
    only: Option<String>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let exact = is_f32(&args.model)?;
    let golden = Golden::read(&args.dir)?;
    let gates = if exact { Gates::EXACT } else { Gates::Q8_0 };
    let longest = golden
        .items
        .iter()
        .map(|p| p.ids.len() + p.greedy_ids.len())
        .max();
    let options = LoadOptions {
        context_len: longest,
        n_logits: 32,
        kv_type: args.kv,
        ..LoadOptions::default()
    };
    let of_base = LoadOptions {
        kv_type: None,
        ..options.clone()
    };
    let model = &args.model;
    model.with_session(&options, |session| match &args.base {
        None => check(&golden, &gates, args, session, None),
        Some(base) => with_session(base, model.threads(), &of_base, |base| {
            check(&golden, &gates, args, session, Some(base))
        }),
    })
}

fn columns(row: &[impl AsRef<str>; 8]) -> String {
    let [name, rest @ ..] = row.each_ref().map(AsRef::as_ref);
    rest.iter().fold(format!("{name:16}"), |line, cell| {
        format!("{line} {cell:>9}")
    })
}

fn is_f32(model: &ModelArgs) -> Result<bool> {
    let (gguf, _) = read_header(&model.model)?;
    Ok(gguf.tensors().all(|t| t.ggml_type == GgmlType::F32))
}

fn check(
    golden: &Golden,
    gates: &Gates,
    args: &Args,
    session: &mut Session<'_>,
    mut base: Option<&mut Session<'_>>,
) -> Result<()> {
    let wanted = |name: &str| args.only.as_deref().is_none_or(|only| name.contains(only));
    let Format { markdown, json } = args.format;
    if !markdown && !json {
        stdout::line!("{}", columns(&tables::PROMPT_COLUMNS))?;
    }
    let mut all = Vec::new();
    for prompt in golden.items.iter().filter(|p| wanted(&p.name)) {
        let report = compare(prompt, session, base.as_deref_mut())?;
        let failures = report.failures(gates);
        let judged = JudgedPrompt { report, failures };
        if !markdown && !json {
            stdout::line!("{}", columns(&tables::prompt_row(&judged)))?;
            for failure in &judged.failures {
                stdout::line!("    FAIL: {failure}")?;
            }
        }
        all.push(judged);
    }
    let n = all.len();
    ensure!(n > 0, "no prompt has that name");
    let failed = all.iter().filter(|p| !p.failures.is_empty()).count();
    if json {
        print_json(&all)?;
    } else if markdown {
        stdout::text!("{}", tables::prompts(&all))?;
    }
    let pooled = tables::pooled_kl(&all).filter(|_| gates.max_kl.is_some());
    if let Some(kl) = pooled {
        let limit = Gates::MAX_POOLED_KL;
        if !json {
            stdout::line!("\nmean KL over all positions of the long prompts: {kl:.5}.")?;
        }
        ensure!(kl <= limit, "mean KL {kl:.5} is above {limit}");
    }
    ensure!(failed == 0, "{failed} of {n} prompts fail");
    if !json {
        stdout::line!("\n{n} prompts pass.")?;
    }
    Ok(())
}
