//! `pilm synth OUT --shape S --type T`

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use pilm::quantize::TYPES;
use pilm::synth::{Shape, q4_k_m, write_mixed};

use super::output::write_model;

/// Write a seeded model of a real shape: made-up weights, for speed and memory work.
#[derive(clap::Args)]
pub struct Args {
    /// GGUF file to write.
    output: PathBuf,
    /// Whose shape.
    #[arg(long, value_parser = PossibleValuesParser::new(SHAPES.map(|(name, _)| name)))]
    shape: String,
    /// Type of the matrices; q4_k_m is a mix.
    #[arg(long = "type", ignore_case = true, value_parser = PossibleValuesParser::new(WEIGHT_TYPES))]
    weight_type: String,
    /// Another seed is another model.
    #[arg(long)]
    seed: Option<u64>,
}

/// [`TYPES`] on the command line, and the mix.
const WEIGHT_TYPES: [&str; TYPES.len() + 1] = [
    "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k", "q1_0",
    "q4_k_m",
];

/// A shape by its name.
type Named = (&'static str, fn() -> Shape);

const SHAPES: [Named; 15] = [
    ("smollm2-135m", Shape::smollm2_135m),
    ("smollm2-360m", Shape::smollm2_360m),
    ("qwen2.5-0.5b", Shape::qwen2_5_0_5b),
    ("qwen3-0.6b", Shape::qwen3_0_6b),
    ("qwen3-1.7b", Shape::qwen3_1_7b),
    ("tinyllama-1.1b", Shape::tinyllama_1_1b),
    ("llama-tied", Shape::llama_tied),
    ("llama-untied", Shape::llama_untied),
    ("llama-grouped", Shape::llama_grouped),
    ("llama-wide", Shape::llama_wide),
    ("llama-sentence-piece", Shape::llama_sentence_piece),
    ("qwen2", Shape::qwen2),
    ("qwen3-tied", Shape::qwen3_tied),
    ("qwen3-untied", Shape::qwen3_untied),
    ("qwen3-wide", Shape::qwen3_wide),
];

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let found = SHAPES.iter().find(|(name, _)| *name == args.shape);
    let (_, shape) = found.context("the shape is not known")?;
    let mut shape = shape();
    shape.seed = args.seed.unwrap_or(shape.seed);
    let mut types = TYPES.into_iter();
    // The mix is no type.
    let one = types.find(|t| t.name().eq_ignore_ascii_case(&args.weight_type));
    let type_of = |name: &str| one.unwrap_or_else(|| q4_k_m(name));
    write_model(&args.output, |file, progress| {
        Ok(write_mixed(&shape, &type_of, file, progress)?)
    })
}
