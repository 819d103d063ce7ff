//! The fields of each op that runs no measurement.

use super::{Part, RequestError, within};
use crate::id::Id;
use crate::scalar::Scalar;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Not;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

macro_rules! without_fields {
    ($($name:ident)*) => {
        $(#[doc = concat!("The op ", stringify!($name), " has no fields.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct $name {}

        impl Part for $name {})*
    };
}

without_fields! { Info Log Models Reset Sd Selftest Reboot }

/// Loads a model file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Load {
    /// Its name on the card, a part of it, or its number in the list.
    pub name: String,
}

impl Part for Load {
    fn check(&self) -> Result<(), RequestError> {
        // Nothing is a part of every name.
        within(
            !self.name.is_empty(),
            "name",
            "a name, a part of one, or a number",
        )
    }
}

/// Stops a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Abort {
    /// The name of the request to stop. Without it, the abort's own name is that of the request, or it has none and
    /// stops what runs.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "named"
    )]
    pub target: Option<Id>,
}

impl Part for Abort {}

/// A name; `null` is none.
fn named<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Id>, D::Error> {
    match Id::deserialize(from)? {
        Id::None => Err(D::Error::custom("expected a whole number or a string")),
        id => Ok(Some(id)),
    }
}

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
                field: "prompt".into(),
                allowed: "either \"prompt\" or \"ids\"".into(),
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

impl Part for Set {
    fn check(&self) -> Result<(), RequestError> {
        let allowed = "a string, a number or a truth value";
        within(self.value != Scalar::Null, "value", allowed)
    }
}
