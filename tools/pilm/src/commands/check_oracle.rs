//! `pilm check-oracle DIR MODEL`

use std::path::PathBuf;

use anyhow::{Result, ensure};
use llm::engine::LoadOptions;
use llm::gguf::Gguf;
use ops::GgmlType;
use pilm::file_source::FileSource;
use pilm::metrics::Mean;
use pilm::parity::{Gates, Golden, compare};
use pilm::session::Session;

use super::model::{KvArg, ModelArgs, with_session};

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
    #[arg(long, value_enum)]
    kv: Option<KvArg>,
    /// Print a Markdown table.
    #[arg(long)]
    markdown: bool,
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
        kv_type: args.kv.map(KvArg::into),
        ..LoadOptions::default()
    };
    let of_base = LoadOptions {
        kv_type: None,
        ..options.clone()
    };
    if args.markdown {
        stdout::line!(
            "| {} |\n|{}",
            COLUMNS.join(" | "),
            "---|".repeat(COLUMNS.len())
        )?;
    } else {
        stdout::line!("{}", columns(&COLUMNS.map(String::from)))?;
    }
    let model = &args.model;
    with_session(
        &model.model,
        model.threads(),
        &options,
        |session| match &args.base {
            None => check(&golden, &gates, args, session, None),
            Some(base) => with_session(base, model.threads(), &of_base, |base| {
                check(&golden, &gates, args, session, Some(base))
            }),
        },
    )
}

const COLUMNS: [&str; 8] = [
    "prompt", "tokens", "Δ logit", "Δ nll", "argmax", "greedy", "margin", "KL",
];

fn columns(row: &[String; 8]) -> String {
    let [name, rest @ ..] = row;
    rest.iter().fold(format!("{name:16}"), |line, cell| {
        format!("{line} {cell:>9}")
    })
}

fn is_f32(model: &ModelArgs) -> Result<bool> {
    let mut source = FileSource::open(&model.model)?;
    let gguf = Gguf::read(&mut source)?;
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
    let (mut n, mut failed, mut pooled) = (0, 0, Mean::default());
    for prompt in golden.items.iter().filter(|p| wanted(&p.name)) {
        let report = compare(prompt, session, base.as_deref_mut())?;
        let optional = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.5}"));
        let row = [
            report.name.clone(),
            report.n_tokens.to_string(),
            format!("{:.2e}", report.logit_difference),
            format!("{:.2e}", report.nll_difference),
            format!("{}/{}", report.argmax_equal, report.n_tokens),
            format!("{}/{}", report.greedy_equal, prompt.greedy_ids.len()),
            optional(report.margin_at_divergence),
            optional(report.kl),
        ];
        if args.markdown {
            stdout::line!("| {} |", row.join(" | "))?;
        } else {
            stdout::line!("{}", columns(&row))?;
        }
        let failures = report.failures(gates);
        let prefix = if args.markdown {
            "| **FAIL** | "
        } else {
            "    FAIL: "
        };
        for failure in &failures {
            stdout::line!("{prefix}{failure}")?;
        }
        if let Some(kl) = report
            .kl
            .filter(|_| report.n_tokens >= Gates::KL_MIN_TOKENS && gates.max_kl.is_some())
        {
            (0..report.n_tokens).for_each(|_| pooled.add(kl));
        }
        n += 1;
        failed += usize::from(!failures.is_empty());
    }
    ensure!(n > 0, "no prompt has that name");
    stdout::line!()?;
    if pooled.n() > 0 {
        let (kl, limit) = (pooled.mean(), Gates::MAX_POOLED_KL);
        stdout::line!("mean KL over all positions of the long prompts: {kl:.5}.")?;
        ensure!(kl <= limit, "mean KL {kl:.5} is above {limit}");
    }
    ensure!(failed == 0, "{failed} of {n} prompts fail");
    stdout::line!("{n} prompts pass.")?;
    Ok(())
}
