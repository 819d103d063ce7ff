//! Model files as output: their type, a progress bar, and a name only when complete.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use indicatif::{ProgressBar, ProgressStyle};
use pilm::quantize::TARGETS;
use pilm::requantize::Target;
use serde::Serialize;

/// What becomes of the matrices, for subcommands that write a model.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// Type of the matrices.
    #[arg(long = "type", value_parser = PossibleValuesParser::new(WEIGHT_TYPES))]
    weight_type: String,
    /// With a 4-bit type: embedding and output matrix too, which are Q8_0 otherwise.
    #[arg(long)]
    pure: bool,
}

/// [`TARGETS`] on the command line.
const WEIGHT_TYPES: [&str; TARGETS.len()] = ["f32", "f16", "q8_0", "q4_0", "q4_1", "q1_0"];

impl TargetArgs {
    /// The same for the library.
    pub fn target(&self) -> Target {
        let mut targets = TARGETS.into_iter();
        let found = targets.find(|t| t.name().eq_ignore_ascii_case(&self.weight_type));
        Target {
            ggml_type: found.expect("clap takes no other name"),
            pure: self.pure,
        }
    }
}

/// How results are printed; lines for people when nothing else is asked for.
#[derive(clap::Args)]
pub struct Format {
    /// Print a Markdown table.
    #[arg(long)]
    pub markdown: bool,
    /// Print JSON.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
}

/// Prints `results` as one line of JSON.
pub fn print_json(results: &impl Serialize) -> Result<()> {
    stdout::line!("{}", serde_json::to_string(results)?)?;
    Ok(())
}

/// Writes a model through `write` to `path`, which appears only when the model is complete.
///
/// `write` gets the file and reports the bytes that it has written and has to write.
pub fn write_model(
    path: &Path,
    write: impl FnOnce(BufWriter<File>, &mut dyn FnMut(u64, u64)) -> Result<BufWriter<File>>,
) -> Result<()> {
    let output = path.display();
    let mut partial = path.to_owned().into_os_string();
    partial.push(".part");
    let file = File::create(&partial).with_context(|| format!("creating {output}.part"))?;
    let bar = progress_bar("bytes");
    let written = write(BufWriter::new(file), &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    if let Err(e) = written {
        let _ = fs::remove_file(&partial);
        return Err(e);
    }
    fs::rename(&partial, path).with_context(|| format!("naming {output}"))?;
    let len_bytes = fs::metadata(path)?.len();
    eprintln!("{output}: {:.1} MB", len_bytes as f64 / 1e6);
    Ok(())
}

/// A progress bar on the terminal; silent elsewhere.
pub fn progress_bar(unit: &str) -> ProgressBar {
    let template = if unit == "bytes" {
        "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}".to_owned()
    } else {
        format!("{{bar:40}} {{human_pos}}/{{human_len}} {unit} {{eta}}")
    };
    let style = ProgressStyle::with_template(&template).expect("a template of known fields");
    ProgressBar::no_length().with_style(style)
}
