//! A model file that is open: its header is read once, for what is said of the model and for loading it.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use ops::GgmlType;

use crate::config::Config;
use crate::gguf::{self, Gguf, TensorInfo};
use crate::load_error::LoadError;
use crate::models::Architecture;
use crate::source::ModelSource;
use crate::weights::{Spec, wanted};

/// A model that can run, in a file that is open.
pub struct ModelFile<S> {
    pub(crate) source: S,
    pub(crate) gguf: Gguf<'static>,
    pub(crate) architecture: &'static Architecture,
    pub(crate) config: Config,
    /// In the order of the file.
    pub(crate) tensors: Vec<(Spec, TensorInfo)>,
    facts: ModelFacts,
}

/// What is said of a model before it is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFacts {
    /// The model's own name.
    pub name: Option<String>,
    /// Its architecture.
    pub architecture: &'static str,
    /// Types of its matrices, the largest share first.
    pub format: String,
    /// What they were re-encoded from, if that had fewer bits: the type, and the bytes that a token would read of it.
    pub requantized_from: Option<(String, u64)>,
    /// Number of weights.
    pub parameters: u64,
    /// Bytes of all tensors.
    pub tensor_bytes: u64,
    /// Bytes of tensors that one decoded token reads.
    pub bytes_per_token: u64,
    /// Tokens that the model was trained for.
    pub trained_len: usize,
    /// Layers times KV heads: pieces of attention that the cores share out.
    pub attention_pieces: usize,
    /// Number of token ids.
    pub vocab_size: usize,
}

impl<S: ModelSource> ModelFile<S> {
    /// Reads the header of `source`.
    ///
    /// # Errors
    /// Whatever keeps the model from running and shows before its tensors are read.
    pub fn open(mut source: S) -> Result<Self, LoadError<S::Error>> {
        let gguf = Gguf::read(&mut source)?;
        let architecture = Architecture::of(&gguf)?;
        let config = Config::from_gguf(&gguf, &architecture.keys)?;
        check_shapes(&config)?;
        let tensors = wanted(&gguf, architecture.tensors(&config))?;
        Ok(ModelFile {
            source,
            facts: ModelFacts::of(&gguf, &config)?,
            gguf,
            architecture,
            config,
            tensors,
        })
    }

    /// What the header says of the model.
    pub fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    /// The model's shapes.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where the bytes come from.
    pub fn source(&mut self) -> &mut S {
        &mut self.source
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// As [`ModelSource::finish`].
    pub fn finish(self) -> Result<(), S::Error> {
        self.source.finish()
    }
}

impl ModelFacts {
    fn of(gguf: &Gguf<'_>, config: &Config) -> Result<Self, gguf::Error> {
        let matrices = gguf.tensors().filter(|tensor| tensor.rows() > 1);
        Ok(ModelFacts {
            name: gguf.optional_str("general.name")?.map(String::from),
            architecture: config.architecture,
            format: type_mix(matrices.map(|tensor| (tensor.ggml_type, tensor.len_bytes))),
            requantized_from: requantized_from(gguf)?,
            parameters: gguf.tensors().map(TensorInfo::n_elements).sum(),
            tensor_bytes: gguf.tensors().map(|tensor| tensor.len_bytes).sum(),
            bytes_per_token: gguf.bytes_per_token(),
            trained_len: config.max_seq_len,
            attention_pieces: config.n_layers * config.n_kv_heads,
            vocab_size: config.vocab_size,
        })
    }
}

/// What `pilm quantize` notes.
fn requantized_from(gguf: &Gguf<'_>) -> Result<Option<(String, u64)>, gguf::Error> {
    // Only a type's name is shown: a file must not steer the terminal.
    let is_type = |name: &&str| {
        name.len() <= 8 && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
    };
    let name = gguf.optional_str("pilm.requantized_from")?.filter(is_type);
    let bytes = gguf.optional_u32("pilm.requantized_from_bytes")?;
    Ok(name.map(String::from).zip(bytes.map(u64::from)))
}

/// The names of the matrices' types, the largest share first.
fn type_mix(matrices: impl Iterator<Item = (GgmlType, u64)>) -> String {
    let mut types: Vec<(GgmlType, u64)> = Vec::new();
    for (ggml_type, bytes) in matrices {
        match types.iter_mut().find(|(known, _)| *known == ggml_type) {
            Some((_, sum)) => *sum += bytes,
            None => types.push((ggml_type, bytes)),
        }
    }
    types.sort_by_key(|&(_, bytes)| Reverse(bytes));
    let names = types.iter().map(|(ggml_type, _)| ggml_type.name());
    names.collect::<Vec<_>>().join(" + ")
}

/// Refuses shapes that the kernels' lanes cannot hold.
fn check_shapes<E>(config: &Config) -> Result<(), LoadError<E>> {
    for (what, value, multiple) in [("width", config.dim, 4), ("head width", config.head_dim, 8)] {
        if !value.is_multiple_of(multiple) {
            return Err(LoadError::UnsupportedShape {
                what,
                value,
                multiple,
            });
        }
    }
    Ok(())
}
