//! The words that settings take.

use core::fmt;
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

/// The kernels that multiply with the weights; the aliases are the names of version 0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelSet {
    /// The scalar definition.
    #[serde(alias = "scalar")]
    Reference,
    /// Quantized weights made floats, float activations.
    #[serde(alias = "plain")]
    Dequantize,
    /// Quantized weights, int8 activations: the fastest.
    #[serde(alias = "tuned")]
    Int8,
}

impl KernelSet {
    /// All of them, the oldest first.
    pub const ALL: [Self; 3] = [Self::Reference, Self::Dequantize, Self::Int8];
}

impl fmt::Display for KvType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for KernelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
