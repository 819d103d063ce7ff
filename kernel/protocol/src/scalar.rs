//! A value that may be a number, a truth value or a string.

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

impl<T: Into<Scalar>> From<Option<T>> for Scalar {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<bool> for Scalar {
    fn from(on: bool) -> Self {
        Self::Bool(on)
    }
}

impl From<u64> for Scalar {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for Scalar {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Scalar {
    fn from(number: usize) -> Self {
        Self::Number(number.into())
    }
}

impl From<f32> for Scalar {
    /// The f64 with the same shortest decimal text.
    fn from(number: f32) -> Self {
        let number = number.to_string().parse().ok();
        number
            .and_then(Number::from_f64)
            .map_or(Self::Null, Self::Number)
    }
}

impl From<String> for Scalar {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
