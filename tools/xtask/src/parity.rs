//! `cargo xtask parity`: the proof, in numbers, that the arithmetic is right.
//!
//! Another implementation's results are made anew with `transformers` in a virtual environment of
//! pinned packages (or taken from a folder that has them), the engine is compared with them, and
//! `docs/figures/parity.json` keeps what came out; `docs/parity.md` is rendered from it.

pub(crate) mod environment;
mod perplexity;

use crate::figures;
use crate::setup::model;
use crate::voice::Voice;
use crate::workspace::{cargo, output_dir, target_dir};
use anyhow::{Context, Result, ensure};
use environment::{Environment, ORACLE};
use perplexity::OnText;
use pilm::parity::fixture::{self, Check};
use pilm::parity::{JudgedPrompt, tables};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The figures' file.
pub const FIGURES: &str = "parity";

/// What to compare with.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// A folder with `fixtures` and `smollm2`, instead of making them anew.
    #[arg(long, value_name = "DIR")]
    oracle: Option<PathBuf>,
    /// A text on which perplexity is measured too, in about a quarter of an hour on two free cores.
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Chunks of 512 tokens of it.
    #[arg(long, default_value_t = 40)]
    chunks: usize,
    /// Leave out the comparison with transformers.
    #[arg(long, requires = "text", conflicts_with = "oracle")]
    only_perplexity: bool,
}

/// What was compared, as `docs/figures/parity.json` keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The other implementation's packages; none where its results were taken from a folder.
    pub packages: Option<String>,
    /// Comparisons of the tiny models.
    pub fixtures: BTreeMap<String, Vec<Check>>,
    /// SmolLM2-135M with F32 weights.
    pub f32: Vec<JudgedPrompt>,
    /// With Q8_0 weights.
    pub q8_0: Vec<JudgedPrompt>,
    /// On a text.
    pub perplexity: OnText,
}

/// Compares, and writes what it has numbers for to `docs/figures/parity.json`.
///
/// # Errors
/// A package or a model is missing, or a comparison fails; figures are written all the same.
pub fn parity(options: &Options) -> Result<()> {
    let voice = Voice::new(false);
    let models = Models {
        pilm: build_pilm(voice)?,
        q4_1: model::ensure_shipped(voice)?,
        q8_0: model::ensure(voice)?,
        f32: model::ensure_converted(voice, "F32")?,
    };
    let mut figures: Figures = figures::read(FIGURES)?;
    let mut failed = Vec::new();
    if !options.only_perplexity {
        let oracle = options.oracle.as_deref();
        compare(voice, &mut figures, &mut failed, &models, oracle)?;
    }
    if let Some(text) = &options.text {
        figures.perplexity =
            perplexity::measure(voice, &models, text, options.chunks, &mut failed)?;
    }
    figures::write(FIGURES, &figures)?;
    ensure!(
        failed.is_empty(),
        "not all that was compared agrees, see docs/parity.md; failed: {}",
        failed.join("; ")
    );
    Ok(())
}

/// What `command` prints as JSON; a comparison that does not succeed is noted in `failed`.
fn results<T: DeserializeOwned>(
    voice: Voice,
    what: &str,
    command: &mut Command,
    failed: &mut Vec<String>,
) -> Result<T> {
    voice.say(format!("{what} …"));
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{what}: the program cannot be started"))?;
    if !output.status.success() {
        failed.push(what.to_owned());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("{what}: no results came"))
}

/// The files that are compared, and the program that runs them.
struct Models {
    pilm: PathBuf,
    f32: PathBuf,
    q8_0: PathBuf,
    /// As the package ships it.
    q4_1: PathBuf,
}

/// Compares with transformers: results made now, or those in `oracle`.
fn compare(
    voice: Voice,
    figures: &mut Figures,
    failed: &mut Vec<String>,
    models: &Models,
    oracle: Option<&Path>,
) -> Result<()> {
    let Models { f32, q8_0, .. } = models;
    figures.packages = None;
    let oracle = match oracle {
        Some(dir) => dir.to_owned(),
        None => {
            let environment = Environment::ensure(voice)?;
            figures.packages = Some(environment.versions());
            make_oracle(voice, &environment, models)?
        }
    };
    let prompts = oracle.join("smollm2");
    let check = |what: &str, args: &[&Path]| {
        let mut command = Command::new(&models.pilm);
        command.args([what, "--json"]).args(args);
        command
    };
    let mut tiny = check("check-fixtures", &[&oracle.join("fixtures")]);
    figures.fixtures = results(voice, "Comparing the tiny models", &mut tiny, failed)?;
    let mut exact = check("check-oracle", &[&prompts, f32]);
    figures.f32 = results(voice, "Comparing SmolLM2-135M, F32", &mut exact, failed)?;
    let mut coarse = check("check-oracle", &[&prompts, q8_0, Path::new("--base"), f32]);
    figures.q8_0 = results(voice, "Comparing SmolLM2-135M, Q8_0", &mut coarse, failed)?;
    Ok(())
}

/// The host program, with all optimisations.
fn build_pilm(voice: Voice) -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--profile", "host", "--package", "pilm"]);
    voice.run("Building pilm", &mut build)?;
    Ok(target_dir().join("host/pilm"))
}

/// Makes the other implementation's results; the folder that they are in.
fn make_oracle(voice: Voice, environment: &Environment, models: &Models) -> Result<PathBuf> {
    let Models { f32, q8_0, .. } = models;
    let out = output_dir().join("oracle");
    voice.run(
        "Making tiny models and their logits with transformers",
        &mut environment.script(&[Path::new("fixtures"), &out.join("fixtures")]),
    )?;
    voice.run(
        "Running SmolLM2-135M in transformers, 13 prompts",
        &mut environment.script(&[Path::new("model"), f32, &out.join("smollm2")]),
    )?;
    voice.run(
        "Rounding in other ways, in torch",
        &mut environment.script(&[Path::new("rounding"), f32, q8_0, &out.join("smollm2")]),
    )?;
    Ok(out)
}

/// The sections of docs/parity.md.
pub fn sections(figures: &Figures) -> Vec<(&'static str, String)> {
    let (n_checks, n_failed) = fixture::n_and_failed(&figures.fixtures);
    let fixtures = figures.fixtures.iter();
    let tables = fixtures.map(|(model, checks)| tables::fixture(model, checks));
    let fixtures = tables.collect::<String>() + &verdict(n_checks, n_failed, "comparisons");
    let pooled = tables::pooled_kl(&figures.q8_0).map_or_else(String::new, |kl| {
        format!("\nmean KL over all positions of the long prompts: {kl:.5}.\n")
    });
    let of_prompts = |prompts: &[JudgedPrompt]| {
        let failed = prompts.iter().filter(|prompt| !prompt.failures.is_empty());
        verdict(prompts.len(), failed.count(), "prompts")
    };
    let [f32, q8_0] = [&figures.f32, &figures.q8_0].map(|prompts| tables::prompts(prompts));
    let [text, noise] = figures.perplexity.sections();
    vec![
        ("origin", origin(figures.packages.as_deref())),
        ("fixtures", fixtures),
        ("f32", f32 + "\n" + &of_prompts(&figures.f32)),
        ("rounding", rounding(&figures.q8_0)),
        ("q8_0", q8_0 + &pooled + &of_prompts(&figures.q8_0)),
        ("perplexity", text),
        ("noise", noise),
    ]
}

fn verdict(n: usize, n_failed: usize, what: &str) -> String {
    match n_failed {
        0 => format!("{n} {what} pass.\n"),
        _ => format!("{n_failed} of {n} {what} fail.\n"),
    }
}

/// Where the other implementation's results come from.
fn origin(packages: Option<&str>) -> String {
    match packages {
        Some(packages) => format!(
            "The other implementation is `transformers` in fp32. Its results were made in the same run, by\n\
             `{ORACLE}/make.py` with {packages}.\n"
        ),
        None => "The other implementation's results were not made in this run, but taken from a folder\n\
                 (`--oracle`).\n"
            .into(),
    }
}

/// What rounding alone does, for the prompts on which it has been emulated.
fn rounding(prompts: &[JudgedPrompt]) -> String {
    let mut table = tables::head(&[
        "prompt",
        "tokens",
        "KL, mean ± deviation",
        "KL, greatest",
        "argmax equal",
        "greatest margin of another token",
    ]);
    for report in prompts.iter().map(|prompt| &prompt.report) {
        let Some((rounding, spread)) = report.rounding.and_then(|r| Some((r, r.spread?))) else {
            continue;
        };
        table += &format!(
            "| {} | {} | {:.5} ± {:.5} | {:.5} | {} to {} | {:.3} |\n",
            report.name,
            report.n_tokens,
            spread.kl,
            spread.kl_deviation,
            spread.greatest_kl,
            rounding.least_argmax_equal,
            spread.most_argmax_equal,
            rounding.greatest_margin
        );
    }
    table
}
