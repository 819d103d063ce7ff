//! `pilm inspect MODEL`

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use llm::chat::ChatTemplate;
use llm::config::Config;
use llm::gguf::{self, Gguf};
use llm::models::read_config;
use llm::tokenizer::Tokenizer;

use super::model::read_header;

/// Show what a GGUF file holds.
#[derive(clap::Args)]
pub struct Args {
    /// GGUF file.
    model: PathBuf,
    /// List every metadata key and every tensor too.
    #[arg(long)]
    all: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let name = args.model.display();
    let (gguf, len_bytes) = read_header(&args.model)?;
    stdout::line!(
        "file         {name}, {:.1} MB, GGUF v{}",
        megabytes(len_bytes),
        gguf.version()
    )?;
    if let Some(name) = gguf.optional_str("general.name")? {
        stdout::line!("name         {}", plain(name))?;
    }
    let config = read_config(&gguf).with_context(|| name.to_string())?;
    let tokenizer = Tokenizer::from_gguf(&gguf).with_context(|| name.to_string())?;
    print_config(&config)?;
    print_tokenizer(&tokenizer)?;
    stdout::line!(
        "chat         {}",
        ChatTemplate::from_gguf(&gguf)?.family().name()
    )?;
    print_types(&gguf)?;
    stdout::line!(
        "per token    {:.1} MB of weights are read",
        megabytes(gguf.bytes_per_token())
    )?;
    if args.all {
        print_all(&gguf)?;
    }
    Ok(())
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn print_config(config: &Config) -> Result<(), stdout::Error> {
    stdout::line!(
        "model        {}: {} layers, dim {}, hidden {}, {} heads of {}, {} KV heads",
        config.architecture,
        config.n_layers,
        config.dim,
        config.hidden_dim,
        config.n_heads,
        config.head_dim,
        config.n_kv_heads
    )?;
    let implied = if config.rope_theta_implied {
        " (implied)"
    } else {
        ""
    };
    let scaling = match (config.rope_freqs, config.rope_linear_factor) {
        (true, _) => ", Llama 3 scaling".to_owned(),
        (false, 1.0) => String::new(),
        (false, factor) => format!(", linear scaling by {factor}"),
    };
    stdout::line!(
        "constants    context {}, rope theta {}{implied}{scaling}, rms_norm eps {:e}",
        config.max_seq_len,
        config.rope_theta,
        config.rms_norm_eps
    )?;
    Ok(())
}

fn print_tokenizer(tokenizer: &Tokenizer) -> Result<(), stdout::Error> {
    let text = |id| String::from_utf8_lossy(tokenizer.decode_bytes(id)).into_owned();
    let ends: Vec<String> = tokenizer.eog_ids().iter().map(|id| text(*id)).collect();
    stdout::line!(
        "tokenizer    {}, {} tokens, answers end with {}",
        tokenizer.description(),
        tokenizer.vocab_size(),
        if ends.is_empty() {
            "no token".to_owned()
        } else {
            plain(&ends.join(" "))
        }
    )?;
    Ok(())
}

/// One line per type: how many tensors, how many weights, how many bytes.
fn print_types(gguf: &Gguf<'_>) -> Result<(), stdout::Error> {
    let mut types: BTreeMap<&str, (usize, u64, u64)> = BTreeMap::new();
    for tensor in gguf.tensors() {
        let (count, elements, bytes) = types.entry(tensor.ggml_type.name()).or_default();
        *count += 1;
        *elements += tensor.n_elements();
        *bytes += tensor.len_bytes;
    }
    for (name, (count, elements, bytes)) in types {
        let (millions, size) = (elements as f64 / 1e6, megabytes(bytes));
        stdout::line!(
            "weights      {name}: {count} tensors, {millions:.2} M weights, {size:.1} MB"
        )?;
    }
    let tied = gguf.tensor("output.weight").is_none();
    stdout::line!(
        "output       {}",
        if tied {
            "tied to the embedding"
        } else {
            "its own matrix"
        }
    )?;
    Ok(())
}

fn print_all(gguf: &Gguf<'_>) -> Result<(), stdout::Error> {
    stdout::line!()?;
    for (key, value) in gguf.iter() {
        stdout::line!("{} = {}", plain(key), shown(&value))?;
    }
    stdout::line!()?;
    for tensor in gguf.tensors() {
        let dims: Vec<String> = tensor.dims.iter().map(u64::to_string).collect();
        stdout::line!(
            "{:40} {:5} {}",
            plain(&tensor.name),
            tensor.ggml_type.name(),
            dims.join(" × ")
        )?;
    }
    Ok(())
}

/// Text of the file without what a terminal would obey.
fn plain(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// A value on one line, long ones cut.
fn shown(value: &gguf::Value<'_>) -> String {
    match value {
        gguf::Value::Unsigned(v, _) => v.to_string(),
        gguf::Value::Signed(v, _) => v.to_string(),
        gguf::Value::F32(v) => v.to_string(),
        gguf::Value::F64(v) => v.to_string(),
        gguf::Value::Bool(v) => v.to_string(),
        gguf::Value::String(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let start: String = text.chars().take(100).collect();
            let cut = if start.len() < text.len() { "…" } else { "" };
            format!("{start:?}{cut}")
        }
        gguf::Value::Array(array) => {
            format!("[{} × {}]", array.len(), array.element_type().name())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_file_cannot_steer_the_terminal() {
        assert_eq!(
            plain("Qwen's \x1b[31m\r\n\u{9b}2J"),
            "Qwen's \u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}2J"
        );
    }
}
