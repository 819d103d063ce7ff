//! `pilm convert DIR OUT --type T`

use std::path::PathBuf;

use anyhow::Result;
use pilm::convert::{Source, convert};

use super::output::{TargetArgs, write_model};

/// Make a GGUF file from a Hugging Face directory (Llama, Qwen2 or Qwen3).
#[derive(clap::Args)]
pub struct Args {
    /// Directory with config.json, safetensors and tokenizer.json.
    dir: PathBuf,
    /// GGUF file to write.
    output: PathBuf,
    #[command(flatten)]
    target: TargetArgs,
    /// Directory of tokenizer.json, when it is another one.
    #[arg(long)]
    tokenizer: Option<PathBuf>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let source = Source {
        dir: args.dir.clone(),
        tokenizer_dir: args.tokenizer.clone().unwrap_or_else(|| args.dir.clone()),
    };
    write_model(&args.output, |file, progress| {
        Ok(convert(&source, args.target.target(), file, progress)?)
    })
}
