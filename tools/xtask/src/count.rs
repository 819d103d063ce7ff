//! `cargo xtask count`: instructions per token, counted in QEMU.
//!
//! With `-icount shift=0` one instruction takes one nanosecond of the guest's time, so that the times
//! that the firmware reports are instruction counts. One core computes; the others sleep in `wfi` and
//! count nothing. A decoded token includes the choice of the token and its text on the UART.

use crate::card::CardFile;
use crate::session::Session;
use crate::setup::{emulator, model};
use crate::speed_page::write_section;
use crate::voice::Voice;
use crate::workspace::{cargo, output_dir};
use crate::{card, firmware, image};
use anyhow::{Context, Result};
use qemu::Machine;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Length of the prompt whose tokens are counted.
const PROMPT_TOKENS: u64 = 128;
/// Decoded tokens that are averaged.
const STEPS: u64 = 4;

/// What to count.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Positions at which a token is decoded.
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "16,256,1024"
    )]
    positions: Vec<u64>,
    /// Weight types.
    #[arg(
        long,
        value_name = "TYPE",
        value_delimiter = ',',
        default_value = "q8_0,q4_1,f16"
    )]
    types: Vec<WeightType>,
    /// Write the figures to docs/speed.md.
    #[arg(long)]
    write: bool,
}

/// The default model with other weights.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum WeightType {
    /// What set-up makes.
    #[value(name = "q8_0")]
    Q8_0,
    /// The file as it is shipped, its head in Q8_0.
    #[value(name = "q4_1")]
    Q4_1,
    /// Made here.
    #[value(name = "f16")]
    F16,
}

impl WeightType {
    fn name(self) -> &'static str {
        match self {
            WeightType::Q8_0 => "q8_0",
            WeightType::Q4_1 => "q4_1",
            WeightType::F16 => "f16",
        }
    }

    fn file(self, voice: Voice) -> Result<PathBuf> {
        match self {
            WeightType::Q8_0 => model::ensure(voice),
            WeightType::Q4_1 => model::ensure_shipped(voice),
            WeightType::F16 => {
                let out = output_dir().join("models/SmolLM2-135M-Instruct.F16.gguf");
                if !out.exists() {
                    voice.run(
                        "Converting the weights to F16",
                        cargo()
                            .args(["run", "--package", "pilm", "--", "quantize"])
                            .arg(model::ensure_shipped(voice)?)
                            .arg(&out)
                            .args(["--type", "f16"]),
                    )?;
                }
                Ok(out)
            }
        }
    }
}

/// Counts, prints, and writes if asked to.
///
/// # Errors
/// Something cannot be built or made, or the firmware fails.
pub fn count(options: &Options) -> Result<()> {
    let voice = Voice::new(false);
    emulator::ensure(voice)?;
    let firmware = firmware::build(voice)?;
    let mut lines = Vec::new();
    for weight_type in &options.types {
        let file = CardFile::path("model.gguf", weight_type.file(voice)?);
        let files = [file];
        let path = output_dir().join("count.img");
        image::write_card(voice, &files, Some(card::fitting_size(&files)?), &path)?;
        let machine = Machine::new(&firmware.image_path)
            .card(&path)
            .append("pilm.cores=1")
            .icount();
        voice.say(format!("Counting with {} weights", weight_type.name()));
        let mut session = Session::boot(&machine)?;
        lines.extend(count_model(
            &mut session,
            weight_type.name(),
            &options.positions,
        )?);
    }
    println!("{}", lines.join("\n"));
    if options.write {
        write_section("count", &format!("```\n{}\n```\n", lines.join("\n")))?;
    }
    Ok(())
}

fn count_model(session: &mut Session, name: &str, positions: &[u64]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut add = |line: String| {
        eprintln!("{line}");
        lines.push(line);
    };
    let done = run(session, PROMPT_TOKENS, 0)?;
    let tokens = number(&done, "usage", "prompt_tokens")?;
    let instructions = number(&done, "timing", "prefill_s")? * 1e9;
    add(format!(
        "prefill {name} prompt{PROMPT_TOKENS}: {:.1} M per token",
        instructions / tokens / 1e6
    ));
    for &position in positions {
        let done = run(session, position, STEPS + 1)?;
        let steps = number(&done, "timing", "decode_steps")?;
        let instructions = number(&done, "timing", "decode_s")? * 1e9;
        add(format!(
            "decode {name} pos{position}: {:.1} M",
            instructions / steps / 1e6
        ));
    }
    Ok(lines)
}

/// A prompt of `n_ids` tokens in an empty context, and `n_tokens` of an answer.
fn run(session: &mut Session, n_ids: u64, n_tokens: u64) -> Result<Value> {
    session.ask(json!({"op": "reset"}))?;
    // ids that no tokenizer treats specially; which ones does not matter to the count
    let ids: Vec<u64> = (0..n_ids).map(|i| 1000 + (i * 7919) % 40_000).collect();
    session.ask(json!({"op": "complete", "ids": ids, "max_tokens": n_tokens,
        "ignore_eos": true, "temperature": 0}))
}

fn number(done: &Value, part: &str, field: &str) -> Result<f64> {
    done[part][field]
        .as_f64()
        .with_context(|| format!("the answer has no {part}.{field}: {done}"))
}
