//! Requests: what a program may ask, checked field by field.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use crate::settings::{Setting, Settings};

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
    /// Goes on after end-of-generation tokens.
    pub ignore_eos: bool,
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

/// Why a line is not a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestError {
    /// The line is not UTF-8.
    NotUtf8 {
        /// Where the first wrong byte is.
        at: usize,
    },
    /// The line is not a JSON object, or a field has the wrong type or is unknown.
    Json {
        /// What the parser says, with the column.
        reason: String,
    },
    /// No field `op`.
    MissingOp,
    /// An `op` that does not exist.
    UnknownOp {
        /// What was asked.
        op: String,
    },
    /// A field that the op needs.
    MissingField {
        /// The op.
        op: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field that means nothing to the op.
    UnusedField {
        /// The op.
        op: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A value out of range.
    BadValue {
        /// The field.
        field: &'static str,
        /// What it may be.
        allowed: &'static str,
    },
}

impl RequestError {
    /// The `code` of the error event.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotUtf8 { .. } => "bad_utf8",
            Self::Json { .. } => "bad_json",
            Self::MissingOp | Self::MissingField { .. } => "missing_field",
            Self::UnknownOp { .. } => "unknown_op",
            Self::UnusedField { .. } => "unknown_field",
            Self::BadValue { .. } => "bad_value",
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 { at } => {
                write!(f, "the line is not UTF-8: the first wrong byte is at {at}")
            }
            Self::Json { reason } => f.write_str(reason),
            Self::MissingOp => write!(f, "a request needs \"op\"; one of {}", OPS.join(", ")),
            Self::UnknownOp { op } => write!(f, "no op \"{op}\"; there are {}", OPS.join(", ")),
            Self::MissingField { op, field } => write!(f, "\"{op}\" needs \"{field}\""),
            Self::UnusedField { op, field } => write!(f, "\"{op}\" has no field \"{field}\""),
            Self::BadValue { field, allowed } => write!(f, "\"{field}\" must be {allowed}"),
        }
    }
}

impl core::error::Error for RequestError {}

/// The names of all ops.
const OPS: [&str; 14] = [
    "info",
    "models",
    "load",
    "reset",
    "abort",
    "tokenize",
    "detokenize",
    "complete",
    "chat",
    "set",
    "bench",
    "membw",
    "selftest",
    "reboot",
];

/// What tells requests apart; everything else is looked at afterwards, so that an error carries the id.
#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    id: Id,
    #[serde(default)]
    op: Option<String>,
}

macro_rules! fields {
    ($($name:ident: $type:ty,)*) => {
        /// Every field that any op has.
        #[derive(Deserialize, Default)]
        #[serde(deny_unknown_fields, default)]
        struct Fields {
            #[serde(rename = "id")]
            _id: serde::de::IgnoredAny,
            #[serde(rename = "op")]
            _op: serde::de::IgnoredAny,
            $($name: Option<$type>,)*
        }

        impl Fields {
            /// A field that was given and that the op did not take.
            fn left(&self) -> Option<&'static str> {
                $(if self.$name.is_some() { return Some(stringify!($name)); })*
                None
            }
        }
    };
}

fields! {
    prompt: String,
    ids: Vec<u32>,
    raw: bool,
    special: bool,
    messages: Vec<Message>,
    text: String,
    name: String,
    key: String,
    value: SettingValue,
    max_tokens: usize,
    temperature: f32,
    seed: u64,
    top_k: usize,
    top_p: f32,
    min_p: f32,
    repeat_penalty: f32,
    ignore_eos: bool,
    top_logits: usize,
    logits_crc32c: bool,
    logits_positions: Positions,
    runs: usize,
    prompt_tokens: usize,
    tokens: usize,
    bytes: usize,
}

impl Request {
    /// Reads one line. An error comes with the request's id as far as it could be read.
    ///
    /// # Errors
    /// [`RequestError`]: what is wrong with the line.
    pub fn parse(line: &[u8]) -> Result<Self, (Id, RequestError)> {
        let text = core::str::from_utf8(line).map_err(|error| {
            (
                Id::None,
                RequestError::NotUtf8 {
                    at: error.valid_up_to(),
                },
            )
        })?;
        let json = |id: Id| {
            move |error: serde_json::Error| {
                (
                    id,
                    RequestError::Json {
                        reason: error.to_string(),
                    },
                )
            }
        };
        let envelope: Envelope = serde_json::from_str(text).map_err(json(Id::None))?;
        let id = envelope.id;
        let Some(op) = envelope.op else {
            return Err((id, RequestError::MissingOp));
        };
        let Some(op) = OPS.into_iter().find(|&known| known == op) else {
            return Err((id, RequestError::UnknownOp { op }));
        };
        let mut fields: Fields = serde_json::from_str(text).map_err(json(id.clone()))?;
        let op_parsed = Op::from_fields(op, &mut fields).map_err(|error| (id.clone(), error))?;
        match fields.left() {
            Some(field) => Err((id, RequestError::UnusedField { op, field })),
            None => Ok(Self { id, op: op_parsed }),
        }
    }
}

impl Op {
    fn from_fields(op: &'static str, fields: &mut Fields) -> Result<Self, RequestError> {
        let missing = |field| RequestError::MissingField { op, field };
        Ok(match op {
            "info" => Self::Info,
            "models" => Self::Models,
            "load" => Self::Load {
                name: fields.name.take().ok_or(missing("name"))?,
            },
            "reset" => Self::Reset,
            "abort" => Self::Abort,
            "tokenize" => Self::Tokenize {
                text: fields.text.take().ok_or(missing("text"))?,
                special: fields.special.take().unwrap_or(false),
            },
            "detokenize" => Self::Detokenize {
                ids: fields.ids.take().ok_or(missing("ids"))?,
            },
            "complete" => Self::Complete(CompleteRequest {
                prompt: fields.prompt()?,
                sampling: fields.sampling()?,
                logits: fields.logits()?,
            }),
            "chat" => Self::Chat {
                messages: fields.messages.take().ok_or(missing("messages"))?,
                sampling: fields.sampling()?,
                logits: fields.logits()?,
            },
            "set" => Self::Set {
                key: fields.key.take().ok_or(missing("key"))?,
                value: fields.value.take().ok_or(missing("value"))?.0,
            },
            "bench" => Self::Bench(BenchRequest {
                runs: fields.runs.take(),
                prompt_tokens: fields.prompt_tokens.take(),
                tokens: fields.tokens.take(),
            }),
            "membw" => Self::Membw(MembwRequest {
                runs: fields.runs.take(),
                bytes: fields.bytes.take(),
            }),
            "selftest" => Self::Selftest,
            "reboot" => Self::Reboot,
            _ => return Err(RequestError::UnknownOp { op: op.to_string() }),
        })
    }
}

impl Fields {
    fn prompt(&mut self) -> Result<Prompt, RequestError> {
        let allowed = "either \"prompt\" or \"ids\"";
        match (self.prompt.take(), self.ids.take()) {
            (Some(text), None) if self.raw.take().unwrap_or(true) => Ok(Prompt::Raw {
                text,
                special: self.special.take().unwrap_or(false),
            }),
            (Some(text), None) => Ok(Prompt::Question(text)),
            (None, Some(ids)) => Ok(Prompt::Ids(ids)),
            (None, None) => Err(RequestError::MissingField {
                op: "complete",
                field: "prompt",
            }),
            (Some(_), Some(_)) => Err(RequestError::BadValue {
                field: "prompt",
                allowed,
            }),
        }
    }

    fn sampling(&mut self) -> Result<Sampling, RequestError> {
        let sampling = Sampling {
            max_tokens: self.max_tokens.take(),
            temperature: self.temperature.take(),
            seed: self.seed.take(),
            top_k: self.top_k.take(),
            top_p: self.top_p.take(),
            min_p: self.min_p.take(),
            repeat_penalty: self.repeat_penalty.take(),
            ignore_eos: self.ignore_eos.take().unwrap_or(false),
        };
        // The settings know what each value may be.
        sampling.over(&Settings::default())?;
        Ok(sampling)
    }

    fn logits(&mut self) -> Result<LogitsRequest, RequestError> {
        let logits = LogitsRequest {
            top: self.top_logits.take().unwrap_or(0),
            crc: self.logits_crc32c.take().unwrap_or(false),
            positions: self.logits_positions.take().unwrap_or_default(),
        };
        if logits.top > LogitsRequest::MAX_TOP {
            return Err(RequestError::BadValue {
                field: "top_logits",
                allowed: "at most 100",
            });
        }
        Ok(logits)
    }
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

/// A setting's value: a string, or a number or truth value written as one.
struct SettingValue(String);

impl<'de> Deserialize<'de> for SettingValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyScalar;
        impl Visitor<'_> for AnyScalar {
            type Value = SettingValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number or a truth value")
            }
            fn visit_str<E>(self, value: &str) -> Result<SettingValue, E> {
                Ok(SettingValue(value.to_string()))
            }
            fn visit_bool<E>(self, value: bool) -> Result<SettingValue, E> {
                Ok(SettingValue(String::from(if value { "on" } else { "off" })))
            }
            fn visit_u64<E>(self, value: u64) -> Result<SettingValue, E> {
                Ok(SettingValue(value.to_string()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<SettingValue, E> {
                Ok(SettingValue(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<SettingValue, E> {
                Ok(SettingValue(value.to_string()))
            }
        }
        deserializer.deserialize_any(AnyScalar)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyId;
        impl Visitor<'_> for AnyId {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id: a whole number or a string")
            }
            fn visit_unit<E>(self) -> Result<Id, E> {
                Ok(Id::None)
            }
            fn visit_i64<E>(self, value: i64) -> Result<Id, E> {
                Ok(Id::Number(value))
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Id, E> {
                i64::try_from(value)
                    .map(Id::Number)
                    .map_err(|_| E::custom("the id is too large a number"))
            }
            fn visit_str<E>(self, value: &str) -> Result<Id, E> {
                Ok(Id::Text(value.to_string()))
            }
        }
        deserializer.deserialize_any(AnyId)
    }
}

#[cfg(test)]
mod tests;
