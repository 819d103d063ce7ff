//! Model files as output: their type, a progress bar, and a name only when complete.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use ops::GgmlType;
use serde::Serialize;

/// Types that can be made.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum WeightType {
    F32,
    F16,
    #[value(name = "q8_0")]
    Q8_0,
    #[value(name = "q4_0")]
    Q4_0,
    #[value(name = "q4_1")]
    Q4_1,
    #[value(name = "q1_0")]
    Q1_0,
}

impl From<WeightType> for GgmlType {
    fn from(weight_type: WeightType) -> GgmlType {
        match weight_type {
            WeightType::F32 => GgmlType::F32,
            WeightType::F16 => GgmlType::F16,
            WeightType::Q8_0 => GgmlType::Q8_0,
            WeightType::Q4_0 => GgmlType::Q4_0,
            WeightType::Q4_1 => GgmlType::Q4_1,
            WeightType::Q1_0 => GgmlType::Q1_0,
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
/// `write` gets the file and reports what it has done and has to do, in `unit`.
pub fn write_model(
    path: &Path,
    unit: &str,
    write: impl FnOnce(BufWriter<File>, &mut dyn FnMut(u64, u64)) -> Result<BufWriter<File>>,
) -> Result<()> {
    let output = path.display();
    let mut partial = path.to_owned().into_os_string();
    partial.push(".part");
    let file = File::create(&partial).with_context(|| format!("creating {output}.part"))?;
    let bar = progress_bar(unit);
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
        "{bar:40} {bytes}/{total_bytes} {bytes_per_sec}".to_owned()
    } else {
        format!("{{bar:40}} {{human_pos}}/{{human_len}} {unit} {{eta}}")
    };
    let style = ProgressStyle::with_template(&template).expect("a template of known fields");
    ProgressBar::no_length().with_style(style)
}
