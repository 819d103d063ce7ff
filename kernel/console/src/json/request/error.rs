//! Why a line is not a request.

use super::fields::OPS;
use alloc::string::String;
use core::fmt;

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
