//! `pilm convert DIR OUT --type T`

use std::path::PathBuf;

use anyhow::Result;
use pilm::convert::{Source, convert};
use pilm::requantize::Target;

use super::output::{WeightType, write_model};

/// Make a GGUF file from a Hugging Face directory (Llama, Qwen2 or Qwen3).
#[derive(clap::Args)]
pub struct Args {
    /// Directory with config.json, safetensors and tokenizer.json.
    dir: PathBuf,
    /// GGUF file to write.
    output: PathBuf,
    /// Type of the matrices.
    #[arg(long = "type", value_enum)]
    weight_type: WeightType,
    /// With a 4-bit type: embedding and output matrix too, which are Q8_0 otherwise.
    #[arg(long)]
    pure: bool,
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
    let target = Target {
        ggml_type: args.weight_type.into(),
        pure: args.pure,
    };
    write_model(&args.output, "values", |file, progress| {
        Ok(convert(&source, target, file, progress)?)
    })
}
