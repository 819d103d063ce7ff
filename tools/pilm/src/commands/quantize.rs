//! `pilm quantize IN OUT --type T`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use pilm::file_source::FileSource;
use pilm::requantize::{Target, requantize};

use super::output::{WeightType, write_model};

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

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let (input, output) = (args.input.display(), args.output.display());
    let mut source = FileSource::open(&args.input).with_context(|| format!("opening {input}"))?;
    let same = fs::canonicalize(&args.output).ok() == fs::canonicalize(&args.input).ok();
    ensure!(!same, "{output} is the input; name another file");
    let target = Target {
        ggml_type: args.weight_type.into(),
        pure: args.pure,
    };
    write_model(&args.output, "bytes", |file, progress| {
        requantize(&mut source, target, file, progress).with_context(|| input.to_string())
    })
}
