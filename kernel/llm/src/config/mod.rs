//! What kind of model a file holds: its architecture and its shapes.
//!
//! Everything comes from the file. An absent key is an error, with two exceptions that the format
//! itself defines: `attention.head_count_kv` (absent: as many as heads) and, where the architecture's
//! [`KeyRules`] say so, `rope.freq_base`; [`Config::rope_theta_implied`] says when this happened, so
//! that it is shown and not hidden.

mod error;
mod keys;

use alloc::string::ToString;

pub use error::Error;
use keys::Keys;

use crate::gguf::Gguf;

/// How an architecture's files name their keys, and which of them may be absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyRules {
    /// `general.architecture`; it is also the prefix of the architecture's keys.
    pub architecture: &'static str,
    /// What an absent `rope.freq_base` means; without it the key must be there.
    pub implied_rope_theta: Option<f32>,
}

/// Shapes and constants of a decoder. `{a}` is the architecture's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `general.architecture`
    pub architecture: &'static str,
    /// Width of the residual stream: `{a}.embedding_length`.
    pub dim: usize,
    /// Width of the feed-forward layer: `{a}.feed_forward_length`.
    pub hidden_dim: usize,
    /// `{a}.block_count`
    pub n_layers: usize,
    /// Query heads: `{a}.attention.head_count`.
    pub n_heads: usize,
    /// Key and value heads: `{a}.attention.head_count_kv`, or `n_heads` when absent.
    pub n_kv_heads: usize,
    /// Width of a head: `{a}.attention.key_length`, or `dim / n_heads` when absent.
    pub head_dim: usize,
    /// Number of `tokenizer.ggml.tokens`.
    pub vocab_size: usize,
    /// Positions that the model was trained for: `{a}.context_length`.
    pub max_seq_len: usize,
    /// Base of the rotary frequencies: `{a}.rope.freq_base`.
    pub rope_theta: f32,
    /// The file has no `rope.freq_base`: [`KeyRules::implied_rope_theta`].
    pub rope_theta_implied: bool,
    /// Linear scaling: every position is divided by this; 1 without scaling.
    pub rope_linear_factor: f32,
    /// The file has `rope_freqs.weight`, `head_dim / 2` divisors of the rotary frequencies
    /// (Llama 3's scaling).
    pub rope_freqs: bool,
    /// `{a}.attention.layer_norm_rms_epsilon`
    pub rms_norm_eps: f32,
}

/// Name of the tensor with Llama 3's divisors of the rotary frequencies.
pub const ROPE_FREQS_TENSOR: &str = "rope_freqs.weight";

/// Larger sizes are damage: the largest published models stay a factor of 8 below.
const MAX_SIZE: usize = 1 << 20;
const MAX_LAYERS: usize = 1 << 10;
const MAX_CONTEXT: usize = 1 << 27;

impl Config {
    /// Reads and checks the configuration by an architecture's rules.
    ///
    /// # Errors
    /// A missing or unusable key, or a variant that this crate does not run, each by name.
    pub fn from_gguf(gguf: &Gguf<'_>, rules: &KeyRules) -> Result<Self, Error> {
        let architecture = rules.architecture;
        let keys = Keys {
            gguf,
            prefix: architecture,
        };
        refuse_variants(&keys)?;

        let dim = keys.size("embedding_length", MAX_SIZE)?;
        let n_heads = keys.size("attention.head_count", MAX_SIZE)?;
        let n_kv_heads = match keys.optional_u32("attention.head_count_kv")? {
            None => n_heads,
            Some(_) => keys.size("attention.head_count_kv", MAX_SIZE)?,
        };
        if !n_heads.is_multiple_of(n_kv_heads) {
            return Err(Error::HeadsDoNotDivide {
                n_heads,
                n_kv_heads,
            });
        }
        let head_dim = head_dim(&keys, dim, n_heads)?;
        let tokens = gguf.array("tokenizer.ggml.tokens")?;
        if tokens.is_empty() {
            return Err(Error::Unusable {
                key: "tokenizer.ggml.tokens".to_string(),
                value: 0.0,
            });
        }
        let rope_theta = keys.positive("rope.freq_base", rules.implied_rope_theta)?;
        let rms_norm_eps = keys.positive("attention.layer_norm_rms_epsilon", None)?;
        Ok(Config {
            architecture,
            dim,
            hidden_dim: keys.size("feed_forward_length", MAX_SIZE)?,
            n_layers: keys.size("block_count", MAX_LAYERS)?,
            n_heads,
            n_kv_heads,
            head_dim,
            vocab_size: tokens.len(),
            max_seq_len: keys.size("context_length", MAX_CONTEXT)?,
            rope_theta,
            rope_theta_implied: keys.optional_f32("rope.freq_base")?.is_none(),
            rope_linear_factor: rope_linear_factor(&keys)?,
            rope_freqs: gguf.tensor(ROPE_FREQS_TENSOR).is_some(),
            rms_norm_eps,
        })
    }

    /// Width of all keys, or of all values, of one position: `n_kv_heads · head_dim`.
    pub fn kv_dim(&self) -> usize {
        self.n_kv_heads * self.head_dim
    }

    /// Width of all queries of one position: `n_heads · head_dim`.
    pub fn q_dim(&self) -> usize {
        self.n_heads * self.head_dim
    }
}

/// The `general.architecture` of a file that is a whole model.
///
/// # Errors
/// [`Error::NotAModel`], [`Error::SplitModel`], or no such key.
pub fn architecture_name<'g>(gguf: &'g Gguf<'_>) -> Result<&'g str, Error> {
    if let Some(kind) = gguf.optional_str("general.type")?
        && kind != "model"
    {
        return Err(Error::NotAModel {
            kind: kind.to_string(),
        });
    }
    match gguf.optional_u32("split.count")? {
        Some(parts) if parts > 1 => Err(Error::SplitModel { parts }),
        _ => Ok(gguf.str("general.architecture")?),
    }
}

/// Refuses what shares an architecture's name and is another computation.
fn refuse_variants(keys: &Keys<'_, '_>) -> Result<(), Error> {
    if let Some(experts) = keys.optional_u32("expert_count")?
        && experts > 0
    {
        return Err(Error::MixtureOfExperts { experts });
    }
    if let Some(window) = keys.optional_u32("attention.sliding_window")?
        && window > 0
        && window < keys.gguf.u32(&keys.key("context_length"))?
    {
        return Err(Error::SlidingWindow { window });
    }
    if let Some(kind) = keys.optional_str("rope.scaling.type")?
        && !matches!(kind, "none" | "linear")
    {
        return Err(Error::RopeScaling {
            kind: kind.to_string(),
        });
    }
    Ok(())
}

fn head_dim(keys: &Keys<'_, '_>, dim: usize, n_heads: usize) -> Result<usize, Error> {
    let head_dim = match keys.optional_u32("attention.key_length")? {
        Some(_) => keys.size("attention.key_length", MAX_SIZE)?,
        None if dim.is_multiple_of(n_heads) => dim / n_heads,
        None => return Err(Error::DimNotDivisible { dim, n_heads }),
    };
    if head_dim % 2 != 0 || head_dim.saturating_mul(n_heads) > MAX_SIZE {
        return Err(Error::Unusable {
            key: keys.key("attention.key_length"),
            value: head_dim as f64,
        });
    }
    for other in ["attention.value_length", "rope.dimension_count"] {
        if let Some(found) = keys.optional_u32(other)?
            && found as usize != head_dim
        {
            return Err(Error::NotTheHeadWidth {
                key: keys.key(other),
                found,
                head_dim,
            });
        }
    }
    Ok(head_dim)
}

/// The factor of linear scaling, from the current key or from the one before it.
fn rope_linear_factor(keys: &Keys<'_, '_>) -> Result<f32, Error> {
    if keys.optional_f32("rope.scale_linear")?.is_some() {
        return keys.positive("rope.scale_linear", None);
    }
    match keys.optional_str("rope.scaling.type")? {
        Some("linear") => keys.positive("rope.scaling.factor", None),
        _ => Ok(1.0),
    }
}
