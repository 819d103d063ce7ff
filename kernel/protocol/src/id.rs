//! The name of a request.

use alloc::string::String;
use serde::{Deserialize, Serialize};

/// The name that a program gave to its request; all of its events carry it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(untagged, expecting = "an id is a whole number or a string")]
pub enum Id {
    /// No `id` in the request; `null` in the events.
    #[default]
    None,
    /// A whole number.
    Number(i64),
    /// A string.
    Text(String),
}
