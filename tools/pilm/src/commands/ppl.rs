//! `pilm ppl MODEL TEXT`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use llm::engine::LoadOptions;
use llm::perplexity::CHUNK_LEN;
use pilm::perplexity::{Perplexity, perplexity};
use pilm::session::Session;

use super::model::{ModelArgs, with_session};
use super::output::progress_bar;

/// Measure perplexity on a text, and the distance from a base model.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Text file.
    text: PathBuf,
    /// The model to compare with, usually the same in F32.
    #[arg(long)]
    base: Option<PathBuf>,
    /// Most chunks; without it the whole text.
    #[arg(long, default_value_t = usize::MAX)]
    chunks: usize,
    /// Tokens of a chunk; the second half is scored.
    #[arg(long, default_value_t = CHUNK_LEN)]
    context: usize,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    ensure!(args.context >= 4, "--context must be at least 4");
    let name = args.text.display();
    let text = fs::read_to_string(&args.text).with_context(|| format!("reading {name}"))?;
    let options = LoadOptions {
        context_len: Some(args.context),
        n_logits: 32,
        ..LoadOptions::default()
    };
    let model = &args.model;
    with_session(
        &model.model,
        model.threads(),
        &options,
        |session| match &args.base {
            None => measure(args, &text, session, None),
            Some(base) => with_session(base, model.threads(), &options, |base| {
                measure(args, &text, session, Some(base))
            }),
        },
    )
}

fn measure(
    args: &Args,
    text: &str,
    session: &mut Session<'_>,
    base: Option<&mut Session<'_>>,
) -> Result<()> {
    let ids: Vec<u32> = session
        .engine
        .tokenizer()
        .encode(text, false)
        .iter()
        .map(|id| id.0)
        .collect();
    let n_chunks = (ids.len() / args.context).min(args.chunks);
    ensure!(
        n_chunks > 0,
        "the text has {} tokens, less than one chunk",
        ids.len()
    );
    println!(
        "{} tokens, {n_chunks} chunks of {}",
        ids.len(),
        args.context
    );
    let bar = progress_bar("chunks");
    bar.set_length(n_chunks as u64);
    let result = perplexity(
        session,
        base,
        &ids,
        args.context,
        n_chunks,
        &mut |done, so_far| {
            bar.set_position(done as u64);
            if bar.is_hidden() && done % 5 == 0 {
                eprintln!(
                    "{done} of {n_chunks} chunks: perplexity {:.3}",
                    so_far.value()
                );
            }
        },
    )?;
    bar.finish_and_clear();
    print(&result);
    Ok(())
}

fn print(result: &Perplexity) {
    println!(
        "perplexity   {:.4} ± {:.4} over {} tokens (mean nll {:.6})",
        result.value(),
        result.standard_error(),
        result.nll.n(),
        result.nll.mean()
    );
    if let Some(versus) = &result.versus_base {
        let nll = &versus.nll_difference;
        println!(
            "base         {:.4} (mean nll {:.6})",
            versus.nll.mean().exp(),
            versus.nll.mean()
        );
        println!(
            "Δ nll        {:.6} ± {:.6}",
            nll.mean(),
            nll.standard_error()
        );
        println!(
            "KL           {:.6} ± {:.6}",
            versus.kl.mean(),
            versus.kl.standard_error()
        );
        println!("same top 1   {:.5}", versus.top1.mean());
    }
}
