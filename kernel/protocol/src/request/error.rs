//! Why a line is not a request.

use super::Op;
use crate::event::{Error, ErrorCode};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// Why a line is not a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The line is not UTF-8.
    #[error("the line is not UTF-8: the first wrong byte is at {at}")]
    NotUtf8 {
        /// Where the first wrong byte is.
        at: usize,
    },
    /// The line is not a JSON object.
    #[error("{reason}")]
    Json {
        /// What the parser says, with the column.
        reason: String,
    },
    /// A field has the wrong type.
    #[error("\"{field}\": {reason}")]
    BadType {
        /// The field.
        field: String,
        /// What the parser says, with the column.
        reason: String,
    },
    /// No field `op`.
    #[error("a request needs \"op\"; one of {}", ops())]
    MissingOp,
    /// An `op` that does not exist.
    #[error("no op \"{op}\"; there are {}", ops())]
    UnknownOp {
        /// What was asked.
        op: String,
    },
    /// A field that the op needs.
    #[error("\"{op}\" needs \"{field}\"")]
    MissingField {
        /// The op.
        op: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field that means nothing to the op.
    #[error("\"{op}\" has no field \"{field}\"")]
    UnknownField {
        /// The op.
        op: &'static str,
        /// The field.
        field: String,
    },
    /// A value out of range.
    #[error("\"{field}\" must be {allowed}")]
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

/// The names of all ops.
fn ops() -> String {
    let names: Vec<_> = Op::ALL.iter().map(|&(name, _)| name).collect();
    names.join(", ")
}

impl From<RequestError> for Error<'static> {
    fn from(error: RequestError) -> Self {
        Self::new(error.code(), error)
    }
}
