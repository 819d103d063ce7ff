//! `pilm ppl MODEL TEXT`

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use llm::engine::LoadOptions;
use llm::kv_cache::KvType;
use llm::perplexity::CHUNK_LEN;
use pilm::perplexity::{Measured, PairedChunks, Perplexity, Progress, Run, perplexity, table};
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
    let labels: Vec<Label> = all
        .iter()
        .zip(&sessions)
        .map(|((path, _), session)| Label::new(path, session))
        .collect();
    let (base, sessions) = sessions.split_at_mut(usize::from(args.base.is_some()));
    for session in sessions.iter_mut() {
        session.engine.set_kernels(args.kernels.kernels);
    }
    let (base_label, labels) = labels.split_at(base.len());
    let (measured, results) = measure(
        args,
        &text,
        base.first_mut(),
        sessions,
        (base_label.first(), labels),
    )?;
    if args.format.json {
        print_json(&measured)?;
    } else if args.format.markdown {
        stdout::text!("\n{}", table(&measured.runs))?;
    } else {
        for (label, result) in labels.iter().zip(&results) {
            if results.len() > 1 {
                stdout::line!("{}, {} keys and values", label.model, label.kv)?;
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

/// What a row of numbers is about.
struct Label {
    model: String,
    kv: &'static str,
}

impl Label {
    fn new(path: &Path, session: &Session<'_>) -> Label {
        let name = path.file_name().unwrap_or_default();
        Label {
            model: name.to_string_lossy().into_owned(),
            kv: session.engine.kv_type().name(),
        }
    }
}

fn measure<'a>(
    args: &Args,
    text: &str,
    base: Option<&mut Session<'a>>,
    sessions: &mut [Session<'a>],
    (base_label, labels): (Option<&Label>, &[Label]),
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
        "the text has {} tokens, less than one chunk",
        ids.len()
    );
    if !args.format.json {
        stdout::line!(
            "{} tokens, {n_chunks} chunks of {}",
            ids.len(),
            args.context
        )?;
    }
    let mut csv = match &args.per_chunk {
        Some(path) => Some(Csv::create(path)?),
        None => None,
    };
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
            match &mut csv {
                Some(csv) => csv.add(done, labels, progress),
                None => Ok(()),
            }
        },
    );
    bar.finish_and_clear();
    let results = results?;
    let measured = Measured {
        n_tokens: ids.len(),
        n_chunks,
        chunk_len: args.context,
        runs: runs(base_label, labels, &results),
        noise: pairs.noise(),
    };
    Ok((measured, results))
}

/// Each chunk's numbers, one line a model.
struct Csv {
    file: File,
    name: String,
}

impl Csv {
    fn create(path: &Path) -> Result<Csv> {
        let name = path.display().to_string();
        let mut file = File::create(path).with_context(|| format!("creating {name}"))?;
        writeln!(file, "chunk,model,kv,tokens,nll,base_nll,kl,same_top1")
            .with_context(|| format!("writing {name}"))?;
        Ok(Csv { file, name })
    }

    fn add(&mut self, chunk: usize, labels: &[Label], progress: &[Progress]) -> Result<()> {
        for (label, progress) in labels.iter().zip(progress) {
            let Perplexity { nll, versus_base } = &progress.chunk;
            let versus = versus_base.as_ref().map_or(",,".into(), |versus| {
                format!(
                    "{:.6},{:.8},{:.6}",
                    versus.nll.mean(),
                    versus.kl.mean(),
                    versus.top1.mean()
                )
            });
            writeln!(
                self.file,
                "{chunk},{},{},{},{:.6},{versus}",
                label.model,
                label.kv,
                nll.n(),
                nll.mean()
            )
            .with_context(|| format!("writing {}", self.name))?;
        }
        Ok(())
    }
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
        let nll = &versus.nll_difference;
        stdout::line!(
            "base         {:.4} (mean nll {:.6})",
            versus.nll.mean().exp(),
            versus.nll.mean()
        )?;
        stdout::line!(
            "Δ nll        {:.6} ± {:.6}",
            nll.mean(),
            nll.standard_error()
        )?;
        stdout::line!(
            "KL           {:.6} ± {:.6}",
            versus.kl.mean(),
            versus.kl.standard_error()
        )?;
        stdout::line!("same top 1   {:.5}", versus.top1.mean())?;
    }
    Ok(())
}

/// The runs, the base's first.
fn runs(base: Option<&Label>, labels: &[Label], results: &[Perplexity]) -> Vec<Run> {
    let versus = results.first().and_then(|result| result.versus_base);
    let base = base
        .zip(versus)
        .map(|(base, versus)| Run::new(&base.model, base.kv, &versus.nll, None));
    let others = labels
        .iter()
        .zip(results)
        .map(|(label, Perplexity { nll, versus_base })| {
            Run::new(&label.model, label.kv, nll, versus_base.as_ref())
        });
    base.into_iter().chain(others).collect()
}
