//! `pilm quantize IN OUT --type T`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use pilm::file_source::FileSource;
use pilm::requantize::requantize;

use super::output::{TargetArgs, write_model};

/// Re-encode the weights of a GGUF file.
#[derive(clap::Args)]
pub struct Args {
    /// GGUF file to read.
    input: PathBuf,
    /// GGUF file to write.
    output: PathBuf,
    #[command(flatten)]
    target: TargetArgs,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let (input, output) = (args.input.display(), args.output.display());
    let mut source = FileSource::open(&args.input).with_context(|| format!("opening {input}"))?;
    let same = fs::canonicalize(&args.output).ok() == fs::canonicalize(&args.input).ok();
    ensure!(!same, "{output} is the input; name another file");
    write_model(&args.output, |file, progress| {
        requantize(&mut source, args.target.target(), file, progress)
            .with_context(|| input.to_string())
    })
}
