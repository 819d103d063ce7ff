//! The words that settings take.

use crate::scalar::Scalar;
use alloc::string::ToString;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// When a changed setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// With the next answer.
    Now,
    /// With the next conversation.
    Reset,
    /// When a model is loaded.
    Load,
    /// When the board starts: only in `pilm.txt` and on the kernel command line.
    Boot,
}

/// How keys and values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KvType {
    /// 4 bytes per number.
    F32,
    /// 2 bytes per number.
    F16,
    /// 1 byte per number, and a scale for each head's key and value.
    Int8,
}

impl KvType {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Int8 => "int8",
        }
    }
}

/// The kernels that multiply with the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelSet {
    /// The scalar definition.
    Reference,
    /// Quantized weights made floats, float activations.
    Dequantize,
    /// Quantized weights, int8 activations: the fastest.
    Int8,
}

impl KernelSet {
    /// All of them, the oldest first.
    pub const ALL: [Self; 3] = [Self::Reference, Self::Dequantize, Self::Int8];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Dequantize => "dequantize",
            Self::Int8 => "int8",
        }
    }
}

/// No value has this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownWord;

impl FromStr for KvType {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        [Self::F32, Self::F16, Self::Int8]
            .into_iter()
            .find(|kv| kv.name() == word)
            .ok_or(UnknownWord)
    }
}

impl FromStr for KernelSet {
    type Err = UnknownWord;

    /// Takes the names of version 0.1 too: `scalar`, `plain`, `tuned`.
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "reference" | "scalar" => Ok(Self::Reference),
            "dequantize" | "plain" => Ok(Self::Dequantize),
            "int8" | "tuned" => Ok(Self::Int8),
            _ => Err(UnknownWord),
        }
    }
}

impl fmt::Display for KvType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for KernelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<KvType> for Scalar {
    fn from(kv: KvType) -> Self {
        Self::Text(kv.to_string())
    }
}

impl From<KernelSet> for Scalar {
    fn from(kernels: KernelSet) -> Self {
        Self::Text(kernels.to_string())
    }
}
