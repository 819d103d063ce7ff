//! Requests: what a program may ask, and what a person's words become.

mod error;
mod fields;
mod measurements;
mod parts;
mod sampling;
mod strict;

use crate::id::Id;
use alloc::string::String;
use alloc::vec::Vec;
use fields::{Fields, Reader};

pub use error::RequestError;
pub use fields::Part;
pub use measurements::*;
pub use parts::*;
pub use sampling::*;

/// A request line that was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The program's name for it.
    pub id: Id,
    /// What to do.
    pub op: Op,
}

/// A request line that was not understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    /// The program's name for it, as far as it could be read.
    pub id: Id,
    /// What is wrong with the line.
    pub error: RequestError,
}

macro_rules! ops {
    ($($name:ident $word:literal ($($Part:ident),+) $events:literal $about:literal;)*) => {
        /// What may be asked for.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Op {
            $(#[doc = $about] $name($($Part),+),)*
        }

        impl Op {
            /// The names of all ops, with the events that come before `done`.
            pub const ALL: &[(&str, &str)] = &[$(($word, $events),)*];

            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(..) => $word,)* }
            }

            /// Refuses values that are out of their range, whoever has asked.
            ///
            /// # Errors
            /// As [`Part::check`].
            #[allow(non_snake_case, reason = "a part is named by its type")]
            pub fn check(&self) -> Result<(), RequestError> {
                match self { $(Self::$name($($Part),+) => { $($Part.check()?;)+ })* }
                Ok(())
            }

            /// The op called `name`, out of the fields of a line.
            fn read(name: &str, reader: &Reader<'_>) -> Result<Self, RequestError> {
                match name {
                    $($word => {
                        reader.takes($word, &[$(Fields::of::<$Part>()),+])?;
                        Ok(Self::$name($(reader.part::<$Part>()?),+))
                    })*
                    op => Err(RequestError::UnknownOp { op: op.into() }),
                }
            }

            /// The fields of each op: its name, those that it needs, those that it may have.
            pub fn fields() -> Vec<(&'static str, Vec<String>, Vec<String>)> {
                Vec::from([$({
                    let (needed, optional) = fields::listed(&[$(Fields::of::<$Part>()),+]);
                    ($word, needed, optional)
                },)*])
            }
        }

        impl serde::Serialize for Request {
            /// The line that [`Request::parse`] reads.
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.op {
                    $(#[allow(non_snake_case, reason = "a part is named by its type")]
                    Op::$name($($Part),+) => {
                        #[derive(serde::Serialize)]
                        struct Line<'l> {
                            id: &'l Id,
                            op: &'l str,
                            $(#[serde(flatten)] $Part: &'l $Part,)+
                        }
                        Line { id: &self.id, op: $word, $($Part),+ }.serialize(serializer)
                    })*
                }
            }
        }
    };
}

ops! {
    Info       "info"       (Info) "`info`"
        "What runs here: firmware, board, model, limits, settings.";
    Log        "log"        (Log) "`log`"
        "The details of the start-up, as a report about a board should contain them.";
    Models     "models"     (Models) "`models`"
        "The model files on the card.";
    Load       "load"       (Load) "`progress` …, `loaded`"
        "Loads a model file.";
    Reset      "reset"      (Reset) ""
        "Forgets the conversation.";
    Abort      "abort"      (Abort) ""
        "Stops the request that is running.";
    Tokenize   "tokenize"   (Tokenize) "`tokens`"
        "Text to token ids.";
    Detokenize "detokenize" (Detokenize) "`text`"
        "Token ids to text.";
    Complete   "complete"   (Complete, Sampling, Logits) "`token` …, `chunk` …, `logits` …, `counts` …"
        "Continues a prompt.";
    Chat       "chat"       (Chat, Sampling, Logits) "`token` …, `chunk` …, `logits` …, `counts` …"
        "Answers a conversation.";
    Ask        "ask"        (Ask) "`token` …, `chunk` …"
        "Answers the next question of the console's conversation.";
    Set        "set"        (Set) "`settings`"
        "Changes a setting.";
    Bench      "bench"      (Bench) "`bench` …"
        "Measures prefill and decode.";
    Kernels    "kernels"    (Kernels) "`kernels` …"
        "Measures each set of kernels on the model's weights.";
    Ppl        "ppl"        (Ppl) "`ppl` …"
        "Perplexity on a text file of the card.";
    Membw      "membw"      (Membw) "`membw` …"
        "Measures memory bandwidth.";
    Sd         "sd"         (Sd) "`sd`, `sdread` …"
        "What controller and card say, and how fast the card is read.";
    Selftest   "selftest"   (Selftest) "`selftest` …"
        "Compares every kernel with its reference.";
    Reboot     "reboot"     (Reboot) ""
        "Restarts the board.";
}

impl Request {
    /// Reads one line.
    ///
    /// # Errors
    /// [`Rejected`]: what is wrong with the line, with the request's id as far as it could be read.
    pub fn parse(line: &[u8]) -> Result<Self, Rejected> {
        let mut id = Id::None;
        let op = Reader::new(line, &mut id).and_then(|(name, reader)| Op::read(&name, &reader));
        let op = op.and_then(|op| op.check().map(|()| op));
        match op {
            Ok(op) => Ok(Self { id, op }),
            Err(error) => Err(Rejected { id, error }),
        }
    }

    /// A request without a name, as a person's words become one.
    pub fn unnamed(op: Op) -> Self {
        Self { id: Id::None, op }
    }
}

/// Refuses a value out of range.
fn within(fits: bool, field: &'static str, allowed: &'static str) -> Result<(), RequestError> {
    match fits {
        true => Ok(()),
        false => Err(RequestError::BadValue {
            field: field.into(),
            allowed: allowed.into(),
        }),
    }
}
