//! `pilm synth OUT --shape S --type T`

use std::path::PathBuf;

use anyhow::{Result, ensure};
use pilm::synth::{Shape, TYPES, q4_k_m, write_mixed};

use super::output::write_model;

/// Write a seeded model of a real shape: made-up weights, for speed and memory work.
#[derive(clap::Args)]
pub struct Args {
    /// GGUF file to write.
    output: PathBuf,
    /// Whose shape.
    #[arg(long, value_enum)]
    shape: ShapeArg,
    /// Type of the matrices: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k,
    /// q1_0, or the mix q4_k_m.
    #[arg(long = "type")]
    weight_type: String,
    /// Another seed is another model.
    #[arg(long)]
    seed: Option<u64>,
}

/// Shapes by name.
#[derive(Clone, Copy, clap::ValueEnum)]
enum ShapeArg {
    #[value(name = "smollm2-135m")]
    SmolLm2_135M,
    #[value(name = "smollm2-360m")]
    SmolLm2_360M,
    #[value(name = "qwen2.5-0.5b")]
    Qwen2_5_0_5B,
    #[value(name = "tinyllama-1.1b")]
    TinyLlama1_1B,
    LlamaTied,
    LlamaUntied,
    LlamaGrouped,
    LlamaWide,
    LlamaSentencePiece,
    Qwen2,
}

impl ShapeArg {
    fn shape(self) -> Shape {
        match self {
            ShapeArg::SmolLm2_135M => Shape::smollm2_135m(),
            ShapeArg::SmolLm2_360M => Shape::smollm2_360m(),
            ShapeArg::Qwen2_5_0_5B => Shape::qwen2_5_0_5b(),
            ShapeArg::TinyLlama1_1B => Shape::tinyllama_1_1b(),
            ShapeArg::LlamaTied => Shape::llama_tied(),
            ShapeArg::LlamaUntied => Shape::llama_untied(),
            ShapeArg::LlamaGrouped => Shape::llama_grouped(),
            ShapeArg::LlamaWide => Shape::llama_wide(),
            ShapeArg::LlamaSentencePiece => Shape::llama_sentence_piece(),
            ShapeArg::Qwen2 => Shape::qwen2(),
        }
    }
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let mut shape = args.shape.shape();
    shape.seed = args.seed.unwrap_or(shape.seed);
    let wanted = args.weight_type.to_uppercase();
    let fixed = TYPES.into_iter().find(|t| t.name() == wanted);
    let mixed = wanted == "Q4_K_M";
    ensure!(
        mixed || fixed.is_some(),
        "type {} is not known",
        args.weight_type
    );
    let type_of = |name: &str| fixed.unwrap_or_else(|| q4_k_m(name));
    write_model(&args.output, "values", |file, progress| {
        Ok(write_mixed(&shape, &type_of, file, progress)?)
    })
}
