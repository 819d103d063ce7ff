//! Records of measurements.

use crate::facts::Conditions;
use crate::settings::KernelSet;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// Which part of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The prompt is worked in.
    Prefill,
    /// Tokens are generated.
    Decode,
    /// Neither.
    Other,
}

/// The times of equal runs, all kept, and what they come to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Samples {
    /// Runs that count.
    pub runs: usize,
    /// Runs that were thrown away: an interrupt was taken in their window, or the context was not what was asked for.
    pub void_runs: usize,
    /// Each run's time.
    pub samples_s: Vec<f64>,
    /// Their mean.
    pub mean_s: Option<f64>,
    /// The sample standard deviation (n − 1).
    pub sd_s: Option<f64>,
    /// The shortest.
    pub min_s: Option<f64>,
    /// The median (nearest rank).
    pub p50_s: Option<f64>,
    /// The time below which 99 % of the runs lie (nearest rank).
    pub p99_s: Option<f64>,
}

/// A measurement of prefill or decode with one number of cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bench {
    /// Which of both.
    pub phase: Phase,
    /// Cores that worked.
    pub cores: usize,
    /// Tokens of one run.
    pub tokens: usize,
    /// Tokens in the context before.
    pub context_start: usize,
    /// Tokens that were in the context at a run's start and should not have been: the most of all runs.
    pub reused_tokens: usize,
    /// Interrupts in the windows that count, where somebody counts them.
    pub irqs_in_window: Option<u32>,
    /// Whether an emulator's clock took these times.
    pub emulated: bool,
    /// The model's file.
    pub model: String,
    /// Types of its matrices.
    pub format: String,
    /// Type of the KV cache.
    pub kv: Cow<'static, str>,
    /// Tokens that the context takes.
    pub context_len: usize,
    /// The kernel set.
    pub kernels: KernelSet,
    /// Bytes of tensors that one decoded token reads.
    pub bytes_per_token: u64,
    /// The machine.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The runs.
    #[serde(flatten)]
    pub samples: Samples,
    /// On a board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_s: Option<f64>,
}

/// A measurement of one kernel set on one matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kernels {
    /// The kernel set.
    pub kernels: KernelSet,
    /// The matrix.
    pub tensor: Cow<'static, str>,
    /// Its type.
    pub format: Cow<'static, str>,
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub cols: usize,
    /// Rows that were multiplied.
    pub measured_rows: usize,
    /// Packed bytes that one sample reads.
    pub read_bytes: usize,
    /// Tokens that were multiplied together.
    pub tokens: usize,
    /// Cores that worked.
    pub cores: usize,
    /// Interrupts in the windows that count, where somebody counts them.
    pub irqs_in_window: Option<u32>,
    /// Whether an emulator's clock took these times.
    pub emulated: bool,
    /// The model's file.
    pub model: String,
    /// The machine.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The samples.
    #[serde(flatten)]
    pub samples: Samples,
    /// How many times faster than the reference kernels, by the mean times of this run.
    pub speedup_over_reference: Option<f64>,
    /// The largest error against f64 with float activations, relative to the largest product.
    pub max_relative_error: Option<f64>,
    /// Products that were compared.
    pub compared_values: usize,
    /// On a board, 10⁹ bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_gb_per_s: Option<f64>,
}

/// What is done to the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// All of the buffer is read.
    Read,
    /// All of it is written.
    Write,
    /// One half is copied to the other.
    Copy,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Copy];
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A measurement of the memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Membw {
    /// What was done.
    pub action: Action,
    /// Cores that worked.
    pub cores: usize,
    /// Size of the buffer.
    pub buffer_bytes: usize,
    /// Bytes that one sample moves.
    pub moved_bytes: usize,
    /// Whether an emulator's clock took these times.
    pub emulated: bool,
    /// Version of the firmware, with its commit.
    pub version: String,
    /// The board's revision code, where there is one.
    #[serde(with = "crate::facts::revision")]
    pub revision: Option<u32>,
    /// The samples.
    #[serde(flatten)]
    pub samples: Samples,
    /// On a board, 10⁹ bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_gb_per_s: Option<f64>,
}

/// Perplexity over the chunks so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ppl {
    /// Chunks that are done.
    pub chunk: usize,
    /// All chunks.
    pub chunks: usize,
    /// Tokens that were scored.
    pub tokens: u64,
    /// e to the mean negative log likelihood.
    pub perplexity: f64,
    /// Of the perplexity.
    pub standard_error: f64,
    /// The mean negative log likelihood, in nats.
    pub mean_nll: f64,
}

/// What a check compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    /// A kernel with the scalar definition, to the bit.
    Bits,
    /// A kernel with the same formula in f64.
    Accuracy,
    /// Two reads of the card.
    Card,
    /// The work of the cores.
    Balance,
}

impl fmt::Display for CheckKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What one check of the selftest came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What it compares.
    pub kind: CheckKind,
    /// Its name.
    pub check: Cow<'static, str>,
    /// Values that were compared.
    pub values: u64,
    /// How far they are apart.
    pub error: f64,
    /// The largest error that is right.
    pub limit: f64,
    /// Whether the error is within the limit, and anything was compared.
    pub right: bool,
}

impl Check {
    /// A check with its verdict.
    pub fn new(kind: CheckKind, check: &'static str, values: u64, error: f64, limit: f64) -> Self {
        Self {
            kind,
            check: Cow::Borrowed(check),
            values,
            error,
            limit,
            right: error <= limit && values > 0,
        }
    }
}
