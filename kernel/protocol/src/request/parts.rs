//! The parts of requests: the fields of each op, and those that several ops share.

use super::{Part, RequestError};
use crate::scalar::Scalar;
use crate::settings::{Setting, SettingError, Settings};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Not;
use serde::{Deserialize, Serialize};

macro_rules! without_fields {
    ($($name:ident)*) => {
        $(#[doc = concat!("The op ", stringify!($name), " has no fields.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct $name {}

        impl Part for $name {})*
    };
}

without_fields! { Info Models Reset Abort Selftest Reboot }

/// Loads a model file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Load {
    /// Its name on the card, a part of it, or its number in the list.
    pub name: String,
}

impl Part for Load {}

/// Text to token ids.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokenize {
    /// The text.
    pub text: String,
    /// Whether names of control tokens in the text stand for these tokens.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub special: bool,
}

impl Part for Tokenize {}

/// Token ids to text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Detokenize {
    /// The ids.
    pub ids: Vec<u32>,
}

impl Part for Detokenize {}

/// Continues a prompt, which is a text or token ids.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Complete {
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Token ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<u32>>,
    /// Whether the text is taken as it is (the default), or as one question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<bool>,
    /// Whether names of control tokens in the text stand for these tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub special: Option<bool>,
}

/// The prompt of a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt<'r> {
    /// Text, taken as it is.
    Raw {
        /// The text.
        text: &'r str,
        /// Whether names of control tokens in the text stand for these tokens.
        special: bool,
    },
    /// Text, put into the model's chat template as one question.
    Question(&'r str),
    /// Token ids.
    Ids(&'r [u32]),
}

impl Complete {
    /// What is to be continued.
    ///
    /// # Errors
    /// Text and ids, neither, or a field that only the other one has.
    pub fn prompt(&self) -> Result<Prompt<'_>, RequestError> {
        let unknown = |is_there: bool, field: &str| match is_there {
            true => Err(RequestError::UnknownField {
                op: "complete",
                field: field.into(),
            }),
            false => Ok(()),
        };
        match (&self.prompt, &self.ids) {
            (Some(text), None) if self.raw.unwrap_or(true) => Ok(Prompt::Raw {
                text,
                special: self.special.unwrap_or(false),
            }),
            (Some(text), None) => {
                unknown(self.special.is_some(), "special")?;
                Ok(Prompt::Question(text))
            }
            (None, Some(ids)) => {
                unknown(self.raw.is_some(), "raw")?;
                unknown(self.special.is_some(), "special")?;
                Ok(Prompt::Ids(ids))
            }
            (None, None) => Err(RequestError::MissingField {
                op: "complete",
                field: "prompt",
            }),
            (Some(_), Some(_)) => Err(RequestError::BadValue {
                field: "prompt",
                allowed: "either \"prompt\" or \"ids\"",
            }),
        }
    }
}

impl Part for Complete {
    fn check(&self) -> Result<(), RequestError> {
        self.prompt().map(drop)
    }
}

/// Answers a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Chat {
    /// All of it, oldest first.
    pub messages: Vec<Message>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
}

impl Part for Chat {}

/// Answers the next question of the console's conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ask {
    /// The question.
    pub text: String,
}

impl Part for Ask {}

/// Changes a setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Set {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: Scalar,
}

impl Default for Set {
    fn default() -> Self {
        Self {
            key: String::new(),
            value: Scalar::Text(String::new()),
        }
    }
}

impl Part for Set {}

/// How to choose tokens; what is absent comes from the settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sampling {
    /// The most tokens to generate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    /// 0 is greedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Of the generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The number of likeliest tokens to choose from; 0 is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<usize>,
    /// The probability mass to choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    /// The least probability, relative to the likeliest token's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f32>,
    /// What the logits of recent tokens are divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_penalty: Option<f32>,
    /// The most draft tokens that are checked in one pass; `guess` is its old name.
    #[serde(default, alias = "guess", skip_serializing_if = "Option::is_none")]
    pub speculate: Option<Scalar>,
    /// Goes on after end-of-generation tokens.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub ignore_eos: bool,
    /// Reports the work of each core.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub counts: bool,
}

impl Sampling {
    /// `settings` with the values of this request in place.
    ///
    /// # Errors
    /// [`RequestError::BadValue`] for a value out of its range.
    pub fn over(&self, settings: &Settings) -> Result<Settings, RequestError> {
        let mut merged = settings.clone();
        let word = |number: &Option<f32>| number.map(|number| number.to_string());
        for (setting, word) in [
            (Setting::Temperature, word(&self.temperature)),
            (Setting::TopP, word(&self.top_p)),
            (Setting::MinP, word(&self.min_p)),
            (Setting::RepeatPenalty, word(&self.repeat_penalty)),
            (
                Setting::Speculate,
                self.speculate.as_ref().map(Scalar::word),
            ),
        ] {
            if let Some(word) = word {
                let refused = |_: SettingError| RequestError::BadValue {
                    field: setting.key(),
                    allowed: setting.allowed(),
                };
                merged.set(setting.key(), &word).map_err(refused)?;
            }
        }
        // A request may ask for no token at all: only for logits.
        merged.max_tokens = self.max_tokens.or(merged.max_tokens);
        merged.seed = self.seed.or(merged.seed);
        merged.top_k = self.top_k.unwrap_or(merged.top_k);
        Ok(merged)
    }
}

impl Part for Sampling {
    fn check(&self) -> Result<(), RequestError> {
        self.over(&Settings::default()).map(drop)
    }
}

/// The positions whose logits are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Positions {
    /// Those that chose a token: the prompt's last one, and each generated one but the last.
    #[default]
    Last,
    /// Those, and each one of the prompt.
    All,
}

/// Which logits are reported; nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Logits {
    /// How many of the largest logits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub top_logits: usize,
    /// The CRC-32C of the raw little-endian f32 logits.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub logits_crc32c: bool,
    /// Of which positions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub logits_positions: Positions,
}

impl Logits {
    /// The most logits reported per position.
    pub const MAX_TOP: usize = 100;

    /// Whether anything is to be reported.
    pub fn is_wanted(&self) -> bool {
        self.top_logits > 0 || self.logits_crc32c
    }
}

impl Part for Logits {
    fn check(&self) -> Result<(), RequestError> {
        within(
            self.top_logits <= Self::MAX_TOP,
            "top_logits",
            "at most 100",
        )
    }
}

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

fn within(fits: bool, field: &'static str, allowed: &'static str) -> Result<(), RequestError> {
    match fits {
        true => Ok(()),
        false => Err(RequestError::BadValue { field, allowed }),
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
