//! `pilm quantize IN OUT --type T`

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use ops::GgmlType;
use pilm::file_source::FileSource;
use pilm::requantize::{Target, requantize};

/// Re-encode the weights of a GGUF file.
#[derive(clap::Args)]
pub struct Args {
    /// GGUF file to read.
    input: PathBuf,
    /// GGUF file to write.
    output: PathBuf,
    /// Type of the matrices.
    #[arg(long = "type", value_enum)]
    weight_type: WeightType,
    /// With a 4-bit type: embedding and output matrix too, which are Q8_0 otherwise.
    #[arg(long)]
    pure: bool,
}

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
}

impl From<WeightType> for GgmlType {
    fn from(weight_type: WeightType) -> GgmlType {
        match weight_type {
            WeightType::F32 => GgmlType::F32,
            WeightType::F16 => GgmlType::F16,
            WeightType::Q8_0 => GgmlType::Q8_0,
            WeightType::Q4_0 => GgmlType::Q4_0,
            WeightType::Q4_1 => GgmlType::Q4_1,
        }
    }
}

/// Runs the subcommand. The output appears under its name only when it is complete.
pub fn run(args: &Args) -> Result<()> {
    let (input, output) = (args.input.display(), args.output.display());
    let mut source = FileSource::open(&args.input).with_context(|| format!("opening {input}"))?;
    let same = fs::canonicalize(&args.output).ok() == fs::canonicalize(&args.input).ok();
    ensure!(!same, "{output} is the input; name another file");
    let mut partial = args.output.clone().into_os_string();
    partial.push(".part");
    let file = File::create(&partial).with_context(|| format!("creating {output}.part"))?;

    let target = Target {
        ggml_type: args.weight_type.into(),
        pure: args.pure,
    };
    let bar = byte_bar();
    let made = requantize(
        &mut source,
        target,
        BufWriter::new(file),
        &mut |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        },
    );
    bar.finish_and_clear();
    if let Err(e) = made {
        let _ = fs::remove_file(&partial);
        return Err(e).with_context(|| input.to_string());
    }
    fs::rename(&partial, &args.output).with_context(|| format!("naming {output}"))?;
    let len_bytes = fs::metadata(&args.output)?.len();
    eprintln!(
        "{output}: {}, {:.1} MB",
        target.ggml_type.name(),
        len_bytes as f64 / 1e6
    );
    Ok(())
}

/// A progress bar that counts bytes on the terminal; silent elsewhere.
pub fn byte_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {bytes_per_sec}")
        .expect("a constant template");
    ProgressBar::no_length().with_style(style)
}
