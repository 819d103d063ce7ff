//! From a line to a request: every field that any op has, and which op takes which.

use super::{
    BenchRequest, CompleteRequest, Id, LogitsRequest, MembwRequest, Message, Op, Positions, Prompt,
    Request, RequestError, Sampling,
};
use crate::settings::{self, Setting, Settings};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

/// The names of all ops.
pub(super) const OPS: [&str; 16] = [
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
    "kernels",
    "ppl",
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
    guess: SettingValue,
    ignore_eos: bool,
    counts: bool,
    top_logits: usize,
    logits_crc32c: bool,
    logits_positions: Positions,
    runs: usize,
    prompt_tokens: usize,
    tokens: usize,
    bytes: usize,
    file: String,
    chunks: usize,
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
            "kernels" => Self::Kernels {
                runs: fields.runs.take(),
            },
            "ppl" => Self::Ppl {
                file: fields.file.take().ok_or(missing("file"))?,
                chunks: fields.chunks.take(),
            },
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
            guess: self.guess()?,
            ignore_eos: self.ignore_eos.take().unwrap_or(false),
            counts: self.counts.take().unwrap_or(false),
        };
        // The settings know what each value may be.
        sampling.over(&Settings::default())?;
        Ok(sampling)
    }

    fn guess(&mut self) -> Result<Option<usize>, RequestError> {
        let Some(SettingValue(word)) = self.guess.take() else {
            return Ok(None);
        };
        let setting = Setting::Guess;
        settings::guess(&word)
            .map(Some)
            .ok_or(RequestError::BadValue {
                field: setting.key(),
                allowed: setting.allowed(),
            })
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
