//! Requests: what a program may ask, checked field by field.

mod error;
mod fields;

use crate::settings::{Setting, Settings};
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

pub use error::RequestError;

/// The name a program gave its request; comes back in every event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Id {
    /// No `id` in the request; `null` in the events.
    #[default]
    None,
    /// A whole number.
    Number(i64),
    /// A string.
    Text(String),
}

/// A request line that was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The program's name for it.
    pub id: Id,
    /// What to do.
    pub op: Op,
}

/// What a program may ask for.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// What runs here: firmware, board, model, limits, settings.
    Info,
    /// The model files on the card.
    Models,
    /// Loads a model file.
    Load {
        /// Its name on the card.
        name: String,
    },
    /// Forgets the conversation.
    Reset,
    /// Stops the request that is running; the id is the running request's, or none for any.
    Abort,
    /// Text to token ids.
    Tokenize {
        /// The text.
        text: String,
        /// Whether names of control tokens in the text stand for these tokens.
        special: bool,
    },
    /// Token ids to text.
    Detokenize {
        /// The ids.
        ids: Vec<u32>,
    },
    /// Continues a prompt.
    Complete(CompleteRequest),
    /// Answers a conversation.
    Chat {
        /// All of it, oldest first.
        messages: Vec<Message>,
        /// How to choose tokens.
        sampling: Sampling,
        /// Logits to report.
        logits: LogitsRequest,
    },
    /// Changes a setting.
    Set {
        /// Its name, as in `/set`.
        key: String,
        /// Its value, as in `/set`.
        value: String,
    },
    /// Measures prefill and decode.
    Bench(BenchRequest),
    /// Perplexity on a text file of the card.
    Ppl {
        /// Its name in the card's root directory.
        file: String,
        /// The most chunks; without it all of the text.
        chunks: Option<usize>,
    },
    /// Measures each generation of kernels.
    Kernels {
        /// Samples per configuration.
        runs: Option<usize>,
    },
    /// Measures memory bandwidth.
    Membw(MembwRequest),
    /// Compares every kernel with its reference.
    Selftest,
    /// Restarts the board.
    Reboot,
}

/// A prompt to continue.
#[derive(Debug, Clone, PartialEq)]
pub struct CompleteRequest {
    /// The prompt.
    pub prompt: Prompt,
    /// How to choose tokens.
    pub sampling: Sampling,
    /// Logits to report.
    pub logits: LogitsRequest,
}

/// The prompt of a completion.
#[derive(Debug, Clone, PartialEq)]
pub enum Prompt {
    /// Text, taken as it is.
    Raw {
        /// The text.
        text: String,
        /// Whether names of control tokens in the text stand for these tokens.
        special: bool,
    },
    /// Text, put into the model's chat template as one question.
    Question(String),
    /// Token ids.
    Ids(Vec<u32>),
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
}

/// How to choose tokens; what is absent comes from the settings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sampling {
    /// The most tokens to generate.
    pub max_tokens: Option<usize>,
    /// 0 is greedy.
    pub temperature: Option<f32>,
    /// Of the generator.
    pub seed: Option<u64>,
    /// The number of likeliest tokens to choose from; 0 is all.
    pub top_k: Option<usize>,
    /// The probability mass to choose from.
    pub top_p: Option<f32>,
    /// The least probability, relative to the likeliest token's.
    pub min_p: Option<f32>,
    /// What the logits of recent tokens are divided by.
    pub repeat_penalty: Option<f32>,
    /// The most tokens that are guessed and checked in one pass.
    pub guess: Option<usize>,
    /// Goes on after end-of-generation tokens.
    pub ignore_eos: bool,
    /// Reports the work of each core.
    pub counts: bool,
}

/// The positions whose logits are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Positions {
    /// Those that chose a token: the prompt's last one, and each generated one but the last.
    #[default]
    Last,
    /// Those, and each one of the prompt.
    All,
}

/// Which logits are reported; nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogitsRequest {
    /// How many of the largest logits.
    pub top: usize,
    /// The CRC-32C of the raw little-endian f32 logits.
    pub crc: bool,
    /// Of which positions.
    pub positions: Positions,
}

impl LogitsRequest {
    /// Whether anything is to be reported.
    pub fn is_wanted(&self) -> bool {
        self.top > 0 || self.crc
    }
}

/// What to measure of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BenchRequest {
    /// Samples per configuration.
    pub runs: Option<usize>,
    /// Length of the prompt.
    pub prompt_tokens: Option<usize>,
    /// Tokens decoded per run.
    pub tokens: Option<usize>,
}

/// What to measure of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MembwRequest {
    /// Samples per configuration.
    pub runs: Option<usize>,
    /// Bytes moved per sample.
    pub bytes: Option<usize>,
}

impl LogitsRequest {
    /// The most logits reported per position.
    pub const MAX_TOP: usize = 100;
}

impl Sampling {
    /// `settings` with the values of this request in place.
    ///
    /// # Errors
    /// [`RequestError::BadValue`] for a value out of its range.
    pub fn over(&self, settings: &Settings) -> Result<Settings, RequestError> {
        let mut merged = settings.clone();
        if let Some(max_tokens) = self.max_tokens {
            merged.max_tokens = Some(max_tokens);
        }
        if let Some(seed) = self.seed {
            merged.seed = Some(seed);
        }
        if let Some(top_k) = self.top_k {
            merged.top_k = top_k;
        }
        if let Some(guess) = self.guess {
            merged.guess = guess;
        }
        for (setting, value, place) in [
            (
                Setting::Temperature,
                self.temperature,
                &mut merged.temperature,
            ),
            (Setting::TopP, self.top_p, &mut merged.top_p),
            (Setting::MinP, self.min_p, &mut merged.min_p),
            (
                Setting::RepeatPenalty,
                self.repeat_penalty,
                &mut merged.repeat_penalty,
            ),
        ] {
            if let Some(value) = value {
                if !setting.allows(value) {
                    return Err(RequestError::BadValue {
                        field: setting.key(),
                        allowed: setting.allowed(),
                    });
                }
                *place = value;
            }
        }
        Ok(merged)
    }
}
#[cfg(test)]
mod tests;
