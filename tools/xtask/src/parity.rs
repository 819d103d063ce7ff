//! `cargo xtask parity`: the proof, in numbers, that the arithmetic is right.
//!
//! Another implementation's results are made anew with `transformers` in a virtual environment of
//! pinned packages (or taken from a folder that has them), the engine is compared with them, and
//! `docs/parity.md` says what came out.

mod environment;
mod perplexity;
mod report;

use crate::setup::model;
use crate::voice::Voice;
use crate::workspace::{cargo, output_dir, root, target_dir};
use anyhow::{Result, ensure};
use environment::{Environment, ORACLE};
use report::Report;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Compares, and writes the sections of `docs/parity.md` that it has numbers for.
///
/// # Errors
/// A package or a model is missing, or a comparison fails; the page is written all the same.
pub fn parity(options: &Options) -> Result<()> {
    let voice = Voice::new(false);
    let pilm = build_pilm(voice)?;
    let q4_1 = model::ensure_shipped(voice)?;
    let q8_0 = model::ensure(voice)?;
    let f32 = output_dir().join("models/SmolLM2-135M-Instruct.F32.gguf");
    if !f32.exists() {
        let mut quantize = Command::new(&pilm);
        quantize
            .arg("quantize")
            .arg(&q4_1)
            .arg(&f32)
            .args(["--type", "f32"]);
        voice.run("Converting the model's weights to F32", &mut quantize)?;
    }
    let models = Models {
        pilm,
        f32,
        q8_0,
        q4_1,
    };
    let page = root().join("docs/parity.md");
    let mut failed = Vec::new();
    if !options.only_perplexity {
        let mut report = Report::new(voice);
        compare(voice, &mut report, &models, options.oracle.as_deref())?;
        failed.extend(report.write("transformers", &page)?);
    }
    if let Some(text) = &options.text {
        let mut report = Report::new(voice);
        let csv = output_dir().join("perplexity.csv");
        perplexity::measure(&mut report, &models, text, options.chunks, &csv)?;
        failed.extend(report.write("perplexity", &page)?);
    }
    ensure!(
        failed.is_empty(),
        "not all that was compared agrees, see {}; failed: {}",
        page.display(),
        failed.join("; ")
    );
    Ok(())
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
    report: &mut Report,
    models: &Models,
    oracle: Option<&Path>,
) -> Result<()> {
    let Models { f32, q8_0, .. } = models;
    let (environment, oracle) = match oracle {
        Some(dir) => (None, dir.to_owned()),
        None => {
            let environment = Environment::ensure(voice)?;
            let dir = make_oracle(voice, &environment, f32)?;
            (Some(environment), dir)
        }
    };
    let prompts = oracle.join("smollm2");
    let check = |what: &str, args: &[&Path]| {
        let mut command = Command::new(&models.pilm);
        command.args([what, "--markdown"]).args(args);
        command
    };
    report.text(&origin(environment.as_ref()));
    report.text(FIXTURES);
    report.output(
        "Comparing the tiny models",
        &mut check("check-fixtures", &[&oracle.join("fixtures")]),
    )?;
    report.text(F32_PROMPTS);
    report.output(
        "Comparing SmolLM2-135M, F32",
        &mut check("check-oracle", &[&prompts, f32]),
    )?;
    report.text(Q8_0_PROMPTS);
    if let Some(environment) = &environment {
        report.text(ROUNDING);
        report.output(
            "Rounding in other ways, in torch",
            &mut environment.script(&[Path::new("rounding"), f32, q8_0, &prompts]),
        )?;
    }
    report.text(Q8_0_LIMITS);
    report.output(
        "Comparing SmolLM2-135M, Q8_0",
        &mut check("check-oracle", &[&prompts, q8_0, Path::new("--base"), f32]),
    )?;
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
fn make_oracle(voice: Voice, environment: &Environment, f32: &Path) -> Result<PathBuf> {
    let out = output_dir().join("oracle");
    voice.run(
        "Making tiny models and their logits with transformers",
        &mut environment.script(&[Path::new("fixtures"), &out.join("fixtures")]),
    )?;
    voice.run(
        "Running SmolLM2-135M in transformers, 13 prompts",
        &mut environment.script(&[Path::new("model"), f32, &out.join("smollm2")]),
    )?;
    Ok(out)
}

/// Where the other implementation's results come from.
fn origin(environment: Option<&Environment>) -> String {
    match environment {
        Some(environment) => format!(
            "The other implementation is `transformers` in fp32. Its results were made in the same run, by\n\
             `{ORACLE}/make.py` with {}.\n\n",
            environment.versions()
        ),
        None => "The other implementation's results were not made in this run, but taken from a folder\n\
                 (`--oracle`).\n\n"
            .into(),
    }
}

const FIXTURES: &str = "\
## Tiny models, every position

Seeded models with grouped heads, wide heads, normed heads, tied and untied output, biases. F32 weights with f32
keys and values must agree within 1e-4 at every position, with no other argmax; Q8_0 must reach a
cosine of 0.995 over all positions of the two telling sequences.

Four classic mistakes are made on purpose. A cell has the cosine of our logits with the mistake to
the right ones; in brackets, for the same mistake in the other implementation, its cosine and the
share of positions with the same argmax. The two cosines must agree within 0.002, and the cosine
must be at most 0.9 on `mid33` and `long128`.

Short sequences discriminate weakly: with `rope_theta` a tenth the cosine stays above 0.98 over 8 tokens,
and the argmax differs at none to two of the eight. Over 33 tokens the cosine is 0.87 at most, over 128
it is 0.65.

";

const F32_PROMPTS: &str = "
## SmolLM2-135M, F32 weights

Prompts of text, digits, several scripts, code and chat. Limits: 2e-3 for every stored logit, every
argmax, every one of 32 greedy tokens.

";

const Q8_0_PROMPTS: &str = "
## SmolLM2-135M, Q8_0 weights, int8 activations

Equal greedy tokens are no valid demand here: a correct 8-bit engine differs where the two best
tokens are close.
";

const ROUNDING: &str = "
How much of that is the luck of rounding, an emulation in torch shows: a correct 8-bit engine in eight runs in
which the inputs of each product are moved by 1e-6: no error, but other ties and other roundings. Its
greedy tokens are taken at every position of the right ones, not only up to the first other one.

";

const Q8_0_LIMITS: &str = "
Limits for ours: a greedy token may differ only where the margin is at most 0.3, the argmax agrees at
0.9155 of the positions (where the emulation of a prompt goes further, as far as that); the mean KL
divergence from the F32 run is at most 0.0125 on each prompt of 80 tokens and more, and at most 0.0105
over all their positions together. Mistakes show as 0.09 and more.

";

#[cfg(test)]
mod tests {
    use crate::marked::with_section;
    use crate::workspace::root;
    use std::fs;

    #[test]
    fn the_page_has_the_marks() {
        let page = fs::read_to_string(root().join("docs/parity.md")).unwrap();
        for name in ["transformers", "perplexity"] {
            assert!(with_section(&page, name, "").is_some(), "{name}");
        }
    }
}
