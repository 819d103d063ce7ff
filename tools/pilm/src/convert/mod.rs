//! A Hugging Face directory as a GGUF file.
//!
//! Reads `config.json`, the safetensors files and `tokenizer.json`, with `tokenizer_config.json`,
//! `generation_config.json` and `chat_template.jinja` where they exist. Three decoders are known:
//! `LlamaForCausalLM`, `Qwen2ForCausalLM` and `Qwen3ForCausalLM`.
//!
//! Llama's rotary pairs are half-split in a checkpoint and interleaved in a GGUF file, so the rows
//! of its q and k are reordered; everything else is renamed and re-encoded.

mod config;
mod tensors;
mod tokenizer;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ops::GgmlType;
use serde_json::Value as Json;

use crate::dequantize::dequantize;
use crate::gguf_writer::{self, Header, Value};
use crate::requantize::{self, Target, encode};
use crate::safetensors::{self, Checkpoint};
use config::HfConfig;

/// Where a converted model comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Directory of `config.json` and the safetensors files.
    pub dir: PathBuf,
    /// Directory of `tokenizer.json` and its companions; usually the same.
    pub tokenizer_dir: PathBuf,
}

/// Writes the model of `source` to `out`; `progress` gets bytes done and in all.
///
/// # Errors
/// Missing or damaged files, models of another kind, failing reads and writes.
pub fn convert<W: Write>(
    source: &Source,
    target: Target,
    out: W,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<W, Error> {
    let config = HfConfig::read(&json(&source.dir.join("config.json"))?)?;
    let mut checkpoint = Checkpoint::open(&source.dir)?;
    let tensors = tensors::plan(&config, &checkpoint, target)?;

    let mut header = Header::default();
    header.set(
        "general.architecture",
        Value::str(config.sizes.architecture),
    );
    header.set("general.type", Value::str("model"));
    if let Some(name) = source
        .dir
        .canonicalize()
        .ok()
        .as_deref()
        .and_then(Path::file_name)
    {
        header.set("general.name", Value::str(&name.to_string_lossy()));
    }
    header.set_file_type(target.ggml_type);
    config.describe(&mut header);
    tokenizer::describe(
        &source.tokenizer_dir,
        &source.dir,
        config.sizes.vocab_size,
        &mut header,
    )?;

    header.write(out, &tensors, progress, |tensor, rows| {
        let values = tensor.source.read(&mut checkpoint, rows)?;
        let bytes = encode(&tensor.name, &values, tensor.ggml_type)?;
        if tensor.ggml_type == GgmlType::Q1_0
            && dequantize(GgmlType::Q1_0, &bytes).is_none_or(|ours| ours != values)
        {
            return Err(Error::NotOneBit {
                name: tensor.name.clone(),
            });
        }
        Ok(bytes)
    })
}

/// The JSON file at `path`.
fn json(path: &Path) -> Result<Json, Error> {
    optional_json(path)?.ok_or_else(|| Error::File {
        path: path.to_owned(),
        what: "is missing".to_owned(),
    })
}

/// The JSON file at `path`; none if there is none.
fn optional_json(path: &Path) -> Result<Option<Json>, Error> {
    let failed = |what: String| Error::File {
        path: path.to_owned(),
        what,
    };
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|e| failed(e.to_string())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failed(e.to_string())),
    }
}

/// Why a directory could not be converted.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the fields are what the sentences of Display print"
)]
pub enum Error {
    /// A file is missing or unreadable.
    #[error("{}: {what}", .path.display())]
    File { path: PathBuf, what: String },
    /// A key of `config.json` is missing or of another type.
    #[error("config.json: {key} is missing or of another type")]
    Key { key: &'static str },
    /// A model that is none of the three decoders.
    #[error(
        "config.json: {what} is not supported; LlamaForCausalLM, Qwen2ForCausalLM and Qwen3ForCausalLM are"
    )]
    Unsupported { what: String },
    /// A tensor of the decoder is missing.
    #[error("the checkpoint has no tensor {name}")]
    MissingTensor { name: String },
    /// A tensor of the checkpoint has no place in the decoder.
    #[error("the checkpoint's tensor {name} has no place in this decoder")]
    UnknownTensor { name: String },
    /// A tensor's shape is not what `config.json` implies.
    #[error("tensor {name} has shape {found:?}; config.json implies {expected:?}")]
    Shape {
        name: String,
        expected: Vec<u64>,
        found: Vec<u64>,
    },
    /// A tokenizer that the engine does not have.
    #[error("tokenizer.json: {what}")]
    Tokenizer { what: String },
    /// The safetensors files.
    #[error(transparent)]
    Checkpoint(#[from] safetensors::Error),
    /// Weights that cannot be encoded.
    #[error(transparent)]
    Encode(#[from] requantize::Error),
    /// A block for Q1_0 has other weights than a number that an f16 holds and its negative.
    #[error(
        "tensor {name} has more than two weights in a block of Q1_0; convert to f16 and quantize that"
    )]
    NotOneBit { name: String },
    /// The result could not be written.
    #[error(transparent)]
    Write(#[from] gguf_writer::Error),
}
