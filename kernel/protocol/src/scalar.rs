//! A value that may be a number, a truth value or a string.

use crate::json;
use alloc::string::{String, ToString};
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// The value of a setting, on its way in or out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a string, a number or a truth value")]
pub enum Scalar {
    /// The choice is left to the firmware.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
}

impl Scalar {
    /// What a value is in JSON; [`Scalar::Null`] for an array or an object.
    pub fn of(value: &impl Serialize) -> Self {
        let mut text = String::new();
        let written = json::value(&mut text, value);
        let read = written.ok().and_then(|()| serde_json::from_str(&text).ok());
        read.unwrap_or(Self::Null)
    }

    /// The word that a person would type for it.
    pub fn word(&self) -> String {
        match self {
            Self::Null => String::from("null"),
            Self::Bool(on) => String::from(if *on { "on" } else { "off" }),
            // With its point: 7.0 is no whole number.
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}
