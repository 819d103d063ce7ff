//! Why a line is not a request.

use super::Op;
use crate::event::{Error, ErrorCode};
use alloc::borrow::Cow;
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
    /// The line is not a JSON object.
    Json {
        /// What the parser says, with the column.
        reason: String,
    },
    /// A field has the wrong type.
    BadType {
        /// The field.
        field: String,
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
    UnknownField {
        /// The op.
        op: &'static str,
        /// The field.
        field: String,
    },
    /// A value out of range.
    BadValue {
        /// The field.
        field: Cow<'static, str>,
        /// What it may be.
        allowed: Cow<'static, str>,
    },
}

impl RequestError {
    /// The `code` of the error event.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotUtf8 { .. } => ErrorCode::BadUtf8,
            Self::Json { .. } | Self::BadType { .. } => ErrorCode::BadJson,
            Self::MissingOp | Self::MissingField { .. } => ErrorCode::MissingField,
            Self::UnknownOp { .. } => ErrorCode::UnknownOp,
            Self::UnknownField { .. } => ErrorCode::UnknownField,
            Self::BadValue { .. } => ErrorCode::BadValue,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ops = |f: &mut fmt::Formatter<'_>| {
            let names = Op::ALL.iter().map(|(name, _)| name).enumerate();
            names.into_iter().try_for_each(|(i, name)| {
                let comma = if i > 0 { ", " } else { "" };
                write!(f, "{comma}{name}")
            })
        };
        match self {
            Self::NotUtf8 { at } => {
                write!(f, "the line is not UTF-8: the first wrong byte is at {at}")
            }
            Self::Json { reason } => f.write_str(reason),
            Self::BadType { field, reason } => write!(f, "\"{field}\": {reason}"),
            Self::MissingOp => {
                f.write_str("a request needs \"op\"; one of ")?;
                ops(f)
            }
            Self::UnknownOp { op } => {
                write!(f, "no op \"{op}\"; there are ")?;
                ops(f)
            }
            Self::MissingField { op, field } => write!(f, "\"{op}\" needs \"{field}\""),
            Self::UnknownField { op, field } => write!(f, "\"{op}\" has no field \"{field}\""),
            Self::BadValue { field, allowed } => write!(f, "\"{field}\" must be {allowed}"),
        }
    }
}

impl core::error::Error for RequestError {}

impl From<RequestError> for Error<'static> {
    fn from(error: RequestError) -> Self {
        Self::new(error.code(), error)
    }
}
