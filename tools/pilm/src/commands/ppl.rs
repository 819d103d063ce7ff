//! `pilm ppl MODEL TEXT`

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use llm::engine::LoadOptions;
use llm::kv_cache::KvType;
use llm::perplexity::CHUNK_LEN;
use pilm::perplexity::{Measured, PairedChunks, Perplexity, Run, perplexity, table};
use pilm::session::{Memory, Session};

use super::model::{KernelsArgs, ModelArgs, load, open, parse_kv};
use super::output::{Format, print_json, progress_bar};

/// Measure perplexity on a text, and the distance from a base model.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    kernels: KernelsArgs,
    /// Text file.
    text: PathBuf,
    /// Another model to measure in the same run; may be repeated.
    #[arg(long, value_name = "MODEL")]
    beside: Vec<PathBuf>,
    /// The model to compare with, usually the same in F32; always with int8 kernels.
    #[arg(long, value_name = "MODEL")]
    base: Option<PathBuf>,
    /// How MODEL's keys and values are stored; each of several, with commas between, is measured.
    /// When absent, and for other models: f32 for F32 models, f16 for others.
    #[arg(long, value_name = "f32|f16|int8", value_delimiter = ',', value_parser = parse_kv)]
    kv: Vec<KvType>,
    /// Most chunks; without it the whole text.
    #[arg(long, default_value_t = usize::MAX)]
    chunks: usize,
    /// Tokens of a chunk; the second half is scored.
    #[arg(long, default_value_t = CHUNK_LEN)]
    context: usize,
    /// Write each chunk's numbers to this file, comma-separated, while they come.
    #[arg(long, value_name = "CSV")]
    per_chunk: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    ensure!(args.context >= 4, "--context must be at least 4");
    ensure!(args.chunks >= 1, "--chunks must be at least 1");
    let name = args.text.display();
    let text = fs::read_to_string(&args.text).with_context(|| format!("reading {name}"))?;
    ensure!(!text.is_empty(), "{name} is empty");
    let kv_types: Vec<Option<KvType>> = match args.kv[..] {
        [] => vec![None],
        ref kv => kv.iter().copied().map(Some).collect(),
    };
    let base = args.base.iter().map(|path| (path, None));
    let measured = kv_types.iter().map(|kv_type| (&args.model.model, *kv_type));
    let beside = args.beside.iter().map(|path| (path, None));
    let all: Vec<_> = base
        .chain(measured)
        .chain(beside)
        .map(|(path, kv_type)| (path, options(args, kv_type)))
        .collect();

    let mut files: Vec<_> = all
        .iter()
        .map(|(path, _)| open(path))
        .collect::<Result<_>>()?;
    let mut memories: Vec<Memory> = files
        .iter()
        .zip(&all)
        .map(|(file, (_, options))| Memory::for_model(file, options, &args.model.threads()))
        .collect();
    let mut sessions: Vec<Session<'_>> = memories
        .iter_mut()
        .zip(&mut files)
        .zip(&all)
        .map(|((memory, file), (path, options))| {
            load(path, file, memory, options, args.model.threads())
        })
        .collect::<Result<_>>()?;
    let vocab_size = |session: &Session<'_>| session.engine.config().vocab_size;
    ensure!(
        sessions
            .iter()
            .all(|s| vocab_size(s) == vocab_size(&sessions[0])),
        "the models' vocabularies differ in size: they cannot be compared"
    );
    for (session, (path, _)) in sessions.iter().zip(&all) {
        let most = session.engine.context_len();
        ensure!(
            args.context <= most,
            "--context must be at most {most}: more positions {} does not have",
            path.display()
        );
    }
    let names: Vec<Name> = all
        .iter()
        .zip(&sessions)
        .map(|((path, _), session)| {
            let file = path.file_name().unwrap_or_default();
            let kv = session.engine.kv_type().name();
            (file.to_string_lossy().into_owned(), kv)
        })
        .collect();
    let (base, sessions) = sessions.split_at_mut(usize::from(args.base.is_some()));
    for session in sessions.iter_mut() {
        session.engine.set_kernels(args.kernels.kernels);
    }
    let (measured, results) = measure(args, &text, base.first_mut(), sessions, &names)?;
    if args.format.json {
        print_json(&measured)?;
    } else if args.format.markdown {
        stdout::text!("\n{}", table(&measured.runs))?;
    } else {
        for ((model, kv), result) in names[base.len()..].iter().zip(&results) {
            if results.len() > 1 {
                stdout::line!("{model}, {kv} keys and values")?;
            }
            print(result)?;
        }
    }
    Ok(())
}

fn options(args: &Args, kv_type: Option<KvType>) -> LoadOptions {
    LoadOptions {
        context_len: Some(args.context),
        n_logits: 32,
        kv_type,
        ..LoadOptions::default()
    }
}

/// A model's file, and how its keys and values are stored.
type Name = (String, &'static str);

fn measure<'a>(
    args: &Args,
    text: &str,
    base: Option<&mut Session<'a>>,
    sessions: &mut [Session<'a>],
    names: &[Name],
) -> Result<(Measured, Vec<Perplexity>)> {
    let tokenizer = sessions[0].engine.tokenizer();
    let ids: Vec<u32> = tokenizer
        .encode(text, false)
        .iter()
        .map(|id| id.0)
        .collect();
    let n_chunks = (ids.len() / args.context).min(args.chunks);
    ensure!(
        n_chunks > 0,
        "the text has {} tokens, less than one chunk of {}; choose a smaller --context",
        ids.len(),
        args.context
    );
    if !args.format.json {
        stdout::line!(
            "{} tokens, {n_chunks} chunks of {}",
            ids.len(),
            args.context
        )?;
    }
    let (base_name, names) = names.split_at(usize::from(base.is_some()));
    let mut csv = args.per_chunk.as_deref().map(create_csv).transpose()?;
    let bar = progress_bar("chunks");
    bar.set_length(n_chunks as u64);
    bar.tick();
    let mut pairs = PairedChunks::default();
    let results = perplexity(
        base,
        sessions,
        &ids,
        args.context,
        n_chunks,
        &mut |done, progress| {
            bar.set_position(done as u64);
            pairs.add(progress);
            if bar.is_hidden() && done % 5 == 0 {
                let so_far = progress[0].so_far.value();
                eprintln!("{done} of {n_chunks} chunks: perplexity {so_far:.3}");
            }
            let Some(csv) = &mut csv else { return Ok(()) };
            names.iter().zip(progress).try_for_each(|(name, progress)| {
                csv.write_all(csv_line(done, name, &progress.chunk).as_bytes())
                    .context("writing the numbers of each chunk")
            })
        },
    );
    bar.finish_and_clear();
    let results = results?;
    let base_nll = results[0].versus_base.map(|versus| versus.nll);
    let base = base_name.iter().zip(&base_nll);
    let base = base.map(|((model, kv), nll)| Run::new(model, kv, nll, None));
    let others = names.iter().zip(&results);
    let others = others.map(|((model, kv), Perplexity { nll, versus_base })| {
        Run::new(model, kv, nll, versus_base.as_ref())
    });
    let measured = Measured {
        n_tokens: ids.len(),
        n_chunks,
        chunk_len: args.context,
        runs: base.chain(others).collect(),
        noise: pairs.noise(),
    };
    Ok((measured, results))
}

/// A file for each chunk's numbers, one line a model, with its head.
fn create_csv(path: &Path) -> Result<File> {
    let name = path.display();
    let mut file = File::create(path).with_context(|| format!("creating {name}"))?;
    writeln!(file, "chunk,model,kv,tokens,nll,base_nll,kl,same_top1")
        .with_context(|| format!("writing {name}"))?;
    Ok(file)
}

fn csv_line(
    chunk: usize,
    (model, kv): &Name,
    Perplexity { nll, versus_base }: &Perplexity,
) -> String {
    let versus = versus_base.map_or(",,".into(), |versus| {
        let (nll, kl) = (versus.nll.mean(), versus.kl.mean());
        format!("{nll:.6},{kl:.8},{:.6}", versus.top1.mean())
    });
    let (n, nll) = (nll.n(), nll.mean());
    format!("{chunk},{model},{kv},{n},{nll:.6},{versus}\n")
}

fn print(result: &Perplexity) -> Result<(), stdout::Error> {
    stdout::line!(
        "perplexity   {:.4} ± {:.4} over {} tokens (mean nll {:.6})",
        result.value(),
        result.standard_error(),
        result.nll.n(),
        result.nll.mean()
    )?;
    if let Some(versus) = &result.versus_base {
        let base = versus.nll.mean();
        stdout::line!("base         {:.4} (mean nll {base:.6})", base.exp())?;
        for (name, mean) in [("Δ nll", &versus.nll_difference), ("KL", &versus.kl)] {
            let (mean, error) = (mean.mean(), mean.standard_error());
            stdout::line!("{name:<13}{mean:.6} ± {error:.6}")?;
        }
        stdout::line!("same top 1   {:.5}", versus.top1.mean())?;
    }
    Ok(())
}
