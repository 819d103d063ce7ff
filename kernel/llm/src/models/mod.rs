//! Architectures: what they share is [`decoder`], what sets each apart is its own page.

pub mod decoder;
pub mod llama;
pub mod qwen2;
pub mod qwen3;

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use ops::Matrix;
use ops::arena::{Arena, OutOfMemory};
use parallel::Core;

use crate::batch::Batch;
use crate::config::{Config, Error, KeyRules, architecture_name};
use crate::gguf::Gguf;
use crate::weights::{Spec, Tensors};

/// Every architecture that this crate has.
static ARCHITECTURES: &[Architecture] = &[
    llama::ARCHITECTURE,
    qwen2::ARCHITECTURE,
    qwen3::ARCHITECTURE,
];

/// Makes a model from its configuration, its tensors, memory and its most positions.
pub type NewModel = for<'a> fn(
    &Config,
    &mut Tensors<'a>,
    &mut Arena<'a>,
    usize,
) -> Result<Box<dyn Model<'a> + 'a>, OutOfMemory>;

/// What a page of this folder states about its architecture.
pub struct Architecture {
    /// Its name, and its files' keys.
    pub keys: KeyRules,
    /// The tensors of a layer, by their names after `blk.{l}.`
    pub layer_tensors: fn(&Config) -> Vec<Spec>,
    /// Makes the decoder.
    pub decoder: NewModel,
}

impl Architecture {
    /// The architecture of a file.
    ///
    /// # Errors
    /// A file that is not a whole model, or one of an architecture that is not here.
    pub fn of(gguf: &Gguf<'_>) -> Result<&'static Self, Error> {
        let name = architecture_name(gguf)?;
        let known = ARCHITECTURES
            .iter()
            .find(|known| known.keys.architecture == name);
        known.ok_or_else(|| Error::UnsupportedArchitecture {
            name: name.to_string(),
            supported: ARCHITECTURES
                .iter()
                .map(|known| known.keys.architecture)
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    /// Every tensor of a model of this configuration.
    pub fn tensors(&self, config: &Config) -> Vec<Spec> {
        decoder::tensors(config, &(self.layer_tensors)(config))
    }
}

/// The configuration of a file of any architecture.
///
/// # Errors
/// As [`Architecture::of`] and [`Config::from_gguf`].
pub fn read_config(gguf: &Gguf<'_>) -> Result<Config, Error> {
    Config::from_gguf(gguf, &Architecture::of(gguf)?.keys)
}

/// A decoder of any architecture.
pub trait Model<'a>: Send + Sync {
    /// Runs a batch. To be called by every core of a region.
    fn forward(&self, core: &mut Core<'_>, batch: &Batch<'_>);

    /// Every matrix that is multiplied, with its tensor's name without the layer.
    fn matrices(&self) -> Vec<(&'static str, &Matrix<'a>)>;
}
