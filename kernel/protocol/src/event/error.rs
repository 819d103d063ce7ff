//! Why a request has failed.

use alloc::borrow::Cow;
use alloc::string::ToString;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The request is over, and has failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

impl fmt::Display for Error<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Error<'_> {}

macro_rules! codes {
    ($($name:ident $word:literal $about:literal;)*) => {
        /// The kinds of failures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorCode {
            $(#[doc = $about] $name,)*
        }

        impl ErrorCode {
            /// All of them: name in JSON, and meaning.
            pub const ALL: &[(Self, &str, &str)] = &[$((Self::$name, $word, $about),)*];
        }
    };
}

codes! {
    BadUtf8         "bad_utf8"          "the line is not UTF-8";
    BadJson         "bad_json"          "the line is no JSON object, or a field has the wrong type";
    MissingField    "missing_field"     "the op needs a field that is not there";
    UnknownOp       "unknown_op"        "no op has this name";
    UnknownField    "unknown_field"     "the op has no field of this name";
    BadValue        "bad_value"         "a value is out of its range";
    Overlong        "overlong"          "the line is longer than `limits` in `info` allow";
    NoModel         "no_model"          "no model is loaded";
    NoSuchModel     "no_such_model"     "`load`: no file, or more than one, fits the name";
    LoadFailed      "load_failed"       "`load`: the file cannot run here";
    Card            "card"              "the card cannot be read";
    NoTemplate      "no_template"       "the model has no chat template that is known: use `complete`";
    EmptyPrompt     "empty_prompt"      "there is no token to continue";
    PromptTooLong   "prompt_too_long"   "the context does not take the prompt";
    ModelFailed     "model_failed"      "the decoder failed";
    NoSuchFile      "no_such_file"      "`ppl`: the card has no file of this name";
    BadFile         "bad_file"          "`ppl`: the text is not UTF-8, too short or too long";
    ContextTooShort "context_too_short" "`ppl`: a chunk does not fit into the context";
    OutOfMemory     "out_of_memory"     "`kernels`: too little memory is set aside for products";
}
