//! Why a request has failed.

use alloc::borrow::Cow;
use alloc::string::ToString;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The request is over, and has failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Error<'a> {
    /// What kind of failure.
    pub code: ErrorCode,
    /// What, where, and what to do; one line.
    pub message: Cow<'a, str>,
}

impl Error<'static> {
    /// An error of this kind.
    pub fn new(code: ErrorCode, message: impl fmt::Display) -> Self {
        Self {
            code,
            message: Cow::Owned(message.to_string()),
        }
    }
}

macro_rules! codes {
    ($($name:ident $about:literal;)*) => {
        /// The kinds of failures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorCode {
            $(#[doc = $about] $name,)*
        }

        impl ErrorCode {
            /// All of them with their meaning.
            pub const ALL: &[(Self, &str)] = &[$((Self::$name, $about),)*];
        }
    };
}

codes! {
    BadUtf8         "the line is not UTF-8";
    BadCrc          "the line's CRC-32C is wrong, or missing where lines before had one";
    BadJson         "the line is no JSON object, or a field has the wrong type";
    MissingField    "the op needs a field that is not there";
    UnknownOp       "no op has this name";
    UnknownField    "the op has no field of this name";
    BadValue        "a value is out of its range";
    Overlong        "the line is longer than `limits` in `info` allow";
    Dropped         "Ctrl-C or an `abort` came before the request's turn";
    NoModel         "no model is loaded";
    NoSuchModel     "`load`: no file, or more than one, fits the name";
    LoadFailed      "`load`: the file cannot run here";
    Card            "the card cannot be read";
    NoTemplate      "the model has no chat template that is known: use `complete`";
    EmptyPrompt     "there is no token to continue";
    PromptTooLong   "the context does not take the prompt";
    ModelFailed     "the decoder failed";
    NoSuchFile      "`ppl`: the card has no file of this name";
    BadFile         "`ppl`: the text is not UTF-8, too short or too long";
    ContextTooShort "`ppl`: a chunk does not fit into the context";
    OutOfMemory     "`kernels`: too little memory is set aside for products";
}
