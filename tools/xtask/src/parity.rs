//! `cargo xtask parity`: the proof, in numbers, that the arithmetic is right.
//!
//! Another implementation's results are made anew with `transformers` in a virtual environment of
//! pinned packages (or taken from a folder that has them), the engine is compared with them, and
//! `docs/parity.md` says what came out.

use crate::setup::model;
use crate::voice::Voice;
use crate::workspace::{cargo, output_dir, root};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Script and package list of the oracle, below the root.
const ORACLE: &str = "tools/pilm/oracle";

/// What to compare with.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// A folder with `fixtures` and `smollm2`, instead of making them anew.
    #[arg(long, value_name = "DIR")]
    oracle: Option<PathBuf>,
    /// A text on which perplexity is measured too.
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Chunks of 512 tokens of it.
    #[arg(long, default_value_t = 40)]
    chunks: usize,
}

/// Compares, and writes `docs/parity.md`.
///
/// # Errors
/// A package or a model is missing, or a comparison fails; the report is written all the same.
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
    let oracle = match &options.oracle {
        Some(dir) => dir.clone(),
        None => make_oracle(voice, &f32)?,
    };

    let mut report = Report::new(voice, pilm);
    report.text(&introduction(options.oracle.is_some()));
    report.text(FIXTURES);
    report.pilm(
        &["check-fixtures", "--markdown"],
        &[&oracle.join("fixtures")],
    )?;
    let prompts = oracle.join("smollm2");
    report.text(F32_PROMPTS);
    report.pilm(&["check-oracle", "--markdown"], &[&prompts, &f32])?;
    report.text(Q8_0_PROMPTS);
    report.pilm(
        &["check-oracle", "--markdown"],
        &[&prompts, &q8_0, Path::new("--base"), &f32],
    )?;
    if let Some(text) = &options.text {
        let chunks = options.chunks.to_string();
        report.text(PERPLEXITY);
        for (name, model) in [("Q8_0", &q8_0), ("Q4_1, as shipped", &q4_1)] {
            report.text(&format!("{name}:\n\n```\n"));
            let files: [&Path; 4] = [model, text, Path::new("--base"), &f32];
            report.pilm(&["ppl", "--chunks", &chunks], &files)?;
            report.text("```\n\n");
        }
    }
    report.write(&root().join("docs/parity.md"))
}

/// The host program, with all optimisations.
fn build_pilm(voice: Voice) -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--profile", "host", "--package", "pilm"]);
    voice.run("Building pilm", &mut build)?;
    Ok(crate::workspace::target_dir().join("host/pilm"))
}

/// Runs the oracle's script in its virtual environment; the folder that it fills.
fn make_oracle(voice: Voice, f32: &Path) -> Result<PathBuf> {
    let python = ensure_environment(voice)?;
    let out = output_dir().join("oracle");
    let script = root().join(ORACLE).join("make.py");
    let run =
        |what: &str, args: &[&Path]| voice.run(what, Command::new(&python).arg(&script).args(args));
    run(
        "Making the fixtures",
        &[Path::new("fixtures"), &out.join("fixtures")],
    )?;
    run(
        "Running the model in transformers",
        &[Path::new("model"), f32, &out.join("smollm2")],
    )?;
    Ok(out)
}

/// The Python of an environment that has exactly the listed packages.
fn ensure_environment(voice: Voice) -> Result<PathBuf> {
    let dir = output_dir().join("oracle-environment");
    let wanted = root().join(ORACLE).join("requirements.txt");
    let installed = dir.join("installed.txt");
    let python = dir.join("bin/python3");
    let list = fs::read(&wanted)?;
    if fs::read(&installed).is_ok_and(|installed| installed == list) {
        return Ok(python);
    }
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(&dir);
    voice.run("Making a virtual environment", &mut create)?;
    let mut install = Command::new(&python);
    install
        .args(["-m", "pip", "install", "--disable-pip-version-check", "-r"])
        .arg(&wanted);
    voice
        .run(
            "Installing torch and transformers (about 1 GB, more with CUDA)",
            &mut install,
        )
        .context("with --oracle DIR results that exist already are used")?;
    fs::write(&installed, list)?;
    Ok(python)
}

/// The document in the making.
struct Report {
    voice: Voice,
    pilm: PathBuf,
    text: String,
    failed: Vec<String>,
}

impl Report {
    fn new(voice: Voice, pilm: PathBuf) -> Report {
        Report {
            voice,
            pilm,
            text: String::new(),
            failed: Vec::new(),
        }
    }

    fn text(&mut self, text: &str) {
        self.text += text;
    }

    /// Appends what `pilm` prints for these arguments, and notes whether it succeeds.
    fn pilm(&mut self, args: &[&str], files: &[&Path]) -> Result<()> {
        let what = format!("pilm {}", args.join(" "));
        self.voice.say(format!("Running {what}"));
        let output = Command::new(&self.pilm)
            .args(args)
            .args(files)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("{what} cannot be started"))?;
        self.text += &String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            self.failed.push(what);
        }
        Ok(())
    }

    fn write(self, path: &Path) -> Result<()> {
        fs::write(path, &self.text).with_context(|| format!("writing {}", path.display()))?;
        self.voice.say(format!("Written: {}", path.display()));
        ensure!(
            self.failed.is_empty(),
            "comparisons fail in: {}",
            self.failed.join(", ")
        );
        Ok(())
    }
}

fn introduction(given: bool) -> String {
    let origin = if given {
        "The stored results were made earlier, with the same packages."
    } else {
        "The results compared with were made in the same run."
    };
    format!(
        "# Parity\n\n\
         Written by `cargo xtask parity`. The engine of the firmware, run on the host, is compared\n\
         with `transformers` in fp32 (packages and script: `{ORACLE}`).\n\
         {origin} The firmware in\n\
         QEMU gives the host's bits, whatever the number of cores (`tests/tests/parity.rs`), so\n\
         what is said here holds for it too.\n\n"
    )
}

const FIXTURES: &str = "\
## Tiny models, every position

Seeded models with grouped heads, wide heads, tied and untied output, biases. F32 weights with f32
keys and values must agree within 1e-4 at every position, with no other argmax; Q8_0 must reach a
cosine of 0.995 over all positions of the two telling sequences.

Four classic mistakes are made on purpose. A cell has the cosine of our logits with the mistake to
the right ones; in brackets, for the same mistake in the other implementation, its cosine and the
share of positions with the same argmax. The two cosines must agree within 0.002, and the cosine
must be at most 0.9 on `mid33` and `long128`.

On short sequences the cosine is a weak discriminator: with `rope_theta` a tenth it stays at 0.99
over 8 tokens, while the argmax already differs at one or two of the eight.

";

const F32_PROMPTS: &str = "
## SmolLM2-135M, F32 weights

Prompts of text, digits, several scripts, code and chat. Limits: 2e-3 for every stored logit, every
argmax, every one of 32 greedy tokens.

";

const Q8_0_PROMPTS: &str = "
## SmolLM2-135M, Q8_0 weights, int8 activations

Equal greedy tokens are no valid demand here: a correct 8-bit engine differs where the two best
tokens are close. Limits: a greedy token may differ only where the margin is at most 0.3; the argmax
agrees at 0.9155 of the positions (87 of 95); the mean KL divergence from the F32 run is at most 0.0105 over all
positions of the prompts of 80 tokens or more, and 0.0125 on each of them: the mean of a correct
engine on the hardest prompt and three deviations, which rounding alone causes. Mistakes show as
0.09 and more.

";

const PERPLEXITY: &str = "
## Perplexity

ggml's method: chunks of 512 tokens without a beginning-of-sequence token, the second half scored;
divergence from the F32 run on the same tokens.

";
