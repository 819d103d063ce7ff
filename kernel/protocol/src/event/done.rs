//! How a request ended.

use serde::{Deserialize, Serialize};

/// The request is over. Which fields there are depends on the request.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Done {
    /// Why a generation or a measurement ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<Finish>,
    /// A generation in numbers.
    #[serde(flatten)]
    pub generated: Option<Generated>,
    /// Tokens of the whole text of a perplexity run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_tokens: Option<usize>,
    /// Whether all checks of a selftest were made and are right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<bool>,
    /// Checks of a selftest that are wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<usize>,
    /// Whether an `abort` stopped something; only when nothing ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<bool>,
}

impl Done {
    /// The end of a measurement: to its end, or stopped.
    pub fn measured(stopped: bool) -> Self {
        Self {
            finish_reason: Some(if stopped { Finish::Abort } else { Finish::Stop }),
            ..Self::default()
        }
    }
}

/// Why no more came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model ended its answer, or the measurement is complete.
    Stop,
    /// The most tokens that were asked for.
    Length,
    /// The context has no room left.
    ContextFull,
    /// The answer repeats itself.
    Repetition,
    /// Ctrl-C or the op `abort`.
    Abort,
}

/// A finished generation in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Generated {
    /// Tokens.
    pub usage: Usage,
    /// Times.
    pub timing: Timing,
    /// The seed that the sampler had.
    pub seed: u64,
    /// What the heap grew by while tokens were generated; nothing when all is well.
    pub heap_growth_bytes: Option<i64>,
}

/// Tokens of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Of the prompt, with those that were known already.
    pub prompt_tokens: usize,
    /// Generated, without the one that ended the answer.
    pub completion_tokens: usize,
    /// Both.
    pub total_tokens: usize,
    /// At the start of the prompt, kept from before.
    pub reused_tokens: usize,
    /// Passes that checked a draft.
    pub drafts: u64,
    /// Tokens of all drafts.
    pub draft_tokens: u64,
    /// Those that were right; each has saved a pass.
    pub accepted_tokens: u64,
    /// In the context now.
    pub context_used: usize,
    /// That the context takes.
    pub context_len: usize,
}

impl Usage {
    /// Tokens of the prompt that were worked in.
    pub fn prefilled(&self) -> usize {
        self.prompt_tokens - self.reused_tokens
    }
}

/// Times of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Timing {
    /// Whether an emulator's clock took these times.
    pub emulated: bool,
    /// Of the prompt's new tokens.
    pub prefill_s: f64,
    /// From the start to the first token.
    pub first_token_s: f64,
    /// Of all decode steps, with sampling and output.
    pub decode_s: f64,
    /// Tokens worked in after the prompt.
    pub decode_steps: usize,
    /// Reads of the weights for them.
    pub decode_passes: u64,
    /// What speculation is for: 1 without it, none without a pass.
    pub tokens_per_pass: Option<f64>,
    /// On a board, when the prompt was not stopped half-way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill_tokens_per_s: Option<f64>,
    /// The same for decode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_tokens_per_s: Option<f64>,
}
