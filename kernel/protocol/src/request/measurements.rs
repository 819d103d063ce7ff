//! The fields of the ops that measure.

use super::{Part, RequestError, within};
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// Measures prefill and decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bench {
    /// Runs with each number of cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    /// Length of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<usize>,
    /// Tokens decoded per run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BenchPlan {
    /// Runs with each number of cores.
    pub runs: usize,
    /// Length of the prompt.
    pub prompt_tokens: usize,
    /// Tokens decoded per run.
    pub tokens: usize,
}

impl Bench {
    /// What is measured: little in an emulator, unless asked otherwise.
    pub fn plan(&self, emulated: bool) -> BenchPlan {
        let (runs, prompt_tokens, tokens) = if emulated { (2, 16, 4) } else { (10, 128, 64) };
        BenchPlan {
            runs: self.runs.unwrap_or(runs),
            prompt_tokens: self.prompt_tokens.unwrap_or(prompt_tokens),
            tokens: self.tokens.unwrap_or(tokens),
        }
    }
}

impl Part for Bench {
    fn check(&self) -> Result<(), RequestError> {
        runs_within(self.runs)
    }
}

/// Measures each set of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Kernels {
    /// Samples per configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
}

impl Part for Kernels {
    fn check(&self) -> Result<(), RequestError> {
        runs_within(self.runs)
    }
}

/// Measures perplexity on a text file of the card.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ppl {
    /// Its name in the card's root directory.
    pub file: String,
    /// The most chunks; without it all of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<usize>,
}

impl Part for Ppl {
    fn check(&self) -> Result<(), RequestError> {
        within(self.chunks != Some(0), "chunks", "above 0")
    }
}

/// Measures memory bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Membw {
    /// Samples per configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    /// Size of the buffer; without it three sizes from the L1 caches to DRAM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
}

impl Part for Membw {
    fn check(&self) -> Result<(), RequestError> {
        runs_within(self.runs)
    }
}

/// The most runs of a measurement.
const MAX_RUNS: usize = 1000;

fn runs_within(runs: Option<usize>) -> Result<(), RequestError> {
    let fits = runs.is_none_or(|runs| (1..=MAX_RUNS).contains(&runs));
    within(fits, "runs", "from 1 to 1000")
}
