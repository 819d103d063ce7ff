//! How to choose tokens, and which logits are reported.

use super::{Part, RequestError, within};
use crate::scalar::Scalar;
use crate::settings::{Setting, SettingError, Settings};
use alloc::string::ToString;
use core::ops::Not;
use serde::{Deserialize, Serialize};

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
                // a field that is left out leaves the choice
                let allowed = setting.allowed();
                let allowed = allowed.strip_suffix(", or default").unwrap_or(allowed);
                let refused = |_: SettingError| RequestError::BadValue {
                    field: setting.key().into(),
                    allowed: allowed.into(),
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

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
