//! Everything that answers a request.
//!
//! A request ends with exactly one [`Event::Done`] or [`Event::Error`].

mod chunk;
mod done;
mod error;
mod logits;
mod record;
mod sd;

use crate::facts::{BoardFacts, Health, LoadTiming, ModelFacts};
use crate::id::Id;
use crate::scalar::Scalar;
use crate::settings::{Effect, Setting, Settings};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

pub use chunk::{Chunk, Texts};
pub use done::{Done, Finish, Generated, Timing, Usage};
pub use error::{Error, ErrorCode};
pub use logits::{Logits, Top, TopEntry};
pub use record::{Action, Bench, Check, CheckKind, Kernels, Membw, Phase, Ppl, Samples};
pub use sd::{BaseClock, Sd, SdCard, SdErrors, SdRead, SdTransfer, SdWords};

/// An event as a line carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer<I, E> {
    /// The request's [`Id`].
    pub id: I,
    /// Which event of the answer, from 0, each token counted: where the request's line had a checksum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// The [`Event`].
    #[serde(flatten)]
    pub event: E,
}

/// An answer as it is read.
pub type Line<'a> = Answer<Id, Event<'a>>;

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// A token was chosen.
    Token(Token<'a>),
    /// Several tokens that share a line.
    Chunk(Chunk<'a>),
    /// Text without a token.
    Text(Text<'a>),
    /// Logits that were asked for.
    Logits(Logits<'a>),
    /// What one core did.
    Counts(Counts),
    /// The ids of a text.
    Tokens(Tokens),
    /// How far a load is.
    Progress(Progress),
    /// A model was loaded.
    Loaded(Box<Loaded>),
    /// The model files on the card.
    Models(Models),
    /// What runs here.
    Info(Box<Info>),
    /// The details of the start-up.
    Log(Log),
    /// A setting has changed.
    Settings(Changed),
    /// A measurement of prefill or decode.
    Bench(Box<Bench>),
    /// A measurement of one kernel set.
    Kernels(Box<Kernels>),
    /// Perplexity so far.
    Ppl(Ppl),
    /// A measurement of the memory.
    Membw(Membw),
    /// The card slot.
    Sd(Box<Sd>),
    /// A measurement of the card.
    SdRead(Box<SdRead>),
    /// One check of the selftest.
    Selftest(Check),
    /// The text of a perplexity run is ready. People read it; no line carries it.
    #[serde(skip)]
    TextReady(TextReady),
    /// A remark for people; no line carries it.
    #[serde(skip)]
    Notice(String),
    /// Bytes were lost on the way here. No request is meant.
    Lost(Lost),
    /// Whatever is sent from now on begins a line. No request is meant.
    Ready(Ready),
    /// The request is over.
    Done(Done),
    /// The request is over, and has failed.
    Error(Error<'a>),
}

/// A token that was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Token<'a> {
    /// Its id.
    pub token: u32,
    /// Whole characters that became certain with it; empty while a character is held back.
    pub text: Cow<'a, str>,
    /// Whether the model is thinking.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub thinking: bool,
}

/// Text without a token: what was held back at the end, or the answer of `detokenize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Text<'a> {
    /// The text.
    pub text: Cow<'a, str>,
}

/// What one core did in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// In prefill or in decode.
    pub phase: Phase,
    /// The core.
    pub core: usize,
    /// Rows that it multiplied.
    pub gemv_rows: u64,
    /// Blocks of attention that it worked out.
    pub attention_blocks: u64,
    /// Barriers that it met the others at.
    pub barriers: u64,
    /// Bytes of tensors that it read.
    pub tensor_bytes: u64,
}

/// The ids of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tokens {
    /// How many.
    pub count: usize,
    /// The ids.
    pub ids: Vec<u32>,
}

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Bytes of the weights that are in their place.
    pub done_bytes: u64,
    /// Bytes of all weights.
    pub total_bytes: u64,
}

/// A model was loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// The model.
    pub model: ModelFacts,
    /// What the parts of the load took.
    pub timing: LoadTiming,
}

/// The model files on the card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Models {
    /// In the order of their numbers.
    pub models: Vec<ModelEntry>,
}

/// A model file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelEntry {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Whether it is the loaded one.
    pub loaded: bool,
}

/// What runs here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// `PiLM`.
    pub firmware: Cow<'static, str>,
    /// Version of the firmware, with its commit.
    pub version: String,
    /// The board.
    pub board: BoardFacts,
    /// Its state.
    pub health: Health,
    /// The loaded model.
    pub model: Option<ModelFacts>,
    /// All settings.
    pub settings: Settings,
    /// The longest lines.
    pub limits: Limits,
}

/// The details of the start-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// As a person reads them; none where the machine keeps none.
    pub lines: Vec<String>,
}

/// Bytes were lost on the way here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// How many since the last such event, at least.
    pub bytes: usize,
}

/// Nothing runs, nothing waits, and no line has been begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The file of the loaded model.
    pub model: Option<String>,
}

/// The longest lines that are taken, and how much may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Of a request.
    pub request_bytes: usize,
    /// Of a person's line.
    pub line_bytes: usize,
    /// Of everything that was sent and is not answered yet.
    pub queue_bytes: usize,
}

impl Limits {
    /// The limits of this version.
    pub const THIS: Self = Self {
        request_bytes: 256 * 1024,
        line_bytes: 32 * 1024,
        queue_bytes: 512 * 1024,
    };
}

/// A setting has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Its name.
    pub key: Cow<'static, str>,
    /// When it takes effect.
    pub effect: Effect,
    /// The new value under that name.
    #[serde(flatten)]
    pub value: BTreeMap<Cow<'static, str>, Scalar>,
}

impl Changed {
    /// That `setting` has the value that it has in `settings`.
    pub fn new(setting: Setting, settings: &Settings) -> Self {
        let key = Cow::Borrowed(setting.key());
        Self {
            value: BTreeMap::from([(key.clone(), settings.value(setting))]),
            key,
            effect: setting.effect(),
        }
    }
}

/// The text of a perplexity run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextReady {
    /// Tokens of the whole text.
    pub text_tokens: usize,
    /// Chunks that will be scored.
    pub chunks: usize,
    /// Tokens of a chunk.
    pub chunk_len: usize,
}
