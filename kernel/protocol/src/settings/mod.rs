//! Everything that can be set: one row each.
//!
//! The same names are used by the kernel command line (`pilm.NAME=VALUE`), by `pilm.txt` (`NAME = VALUE`),
//! by `/set NAME VALUE` and by the op `set`; later ones override earlier ones.

mod asker;
mod by_model;
mod error;
mod kind;
mod sources;
mod words;

use alloc::string::{String, ToString};
use core::fmt;
use kind::{FileName, Kind, OnOff, Or, Text, UpTo, Within, Words};
use serde::{Deserialize, Serialize};

use crate::scalar::Scalar;

pub use asker::Asker;
pub use by_model::{Layers, Section};
pub use error::SettingError;
pub use words::{Effect, KernelSet, KvType};

/// The most draft tokens that one pass checks.
pub const MAX_DRAFT_TOKENS: usize = 7;

macro_rules! settings {
    ($($name:ident $field:ident $(($old:literal))?: $type:ty = $default:expr, $effect:ident, $kind:expr,
       $allowed:literal, $about:literal;)*) => {
        /// One setting.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Setting {
            $(#[doc = $about] $name,)*
        }

        /// The settings of a session.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct Settings {
            $(#[doc = $about] pub $field: $type,)*
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl Setting {
            /// All settings, in the order of the help text.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name it is set by.
            pub fn key(self) -> &'static str {
                match self { $(Self::$name => stringify!($field),)* }
            }

            /// The name that it had before, which still sets it.
            fn old_key(self) -> Option<&'static str> {
                match self {
                    $($(Self::$name => Some($old),)?)*
                    _ => None,
                }
            }

            /// What it may be.
            pub fn allowed(self) -> &'static str {
                match self { $(Self::$name => $allowed,)* }
            }

            /// What it does.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $about,)* }
            }

            /// When a change takes effect.
            pub fn effect(self) -> Effect {
                match self { $(Self::$name => Effect::$effect,)* }
            }
        }

        impl Settings {
            /// Takes `word` for `setting`; whether it is one that it may have.
            fn read(&mut self, setting: Setting, word: &str) -> bool {
                match setting {
                    $(Setting::$name => match $kind.read(word) {
                        Some(value) => {
                            self.$field = value;
                            true
                        }
                        None => false,
                    },)*
                }
            }

            /// Writes the value of one setting as it would be typed.
            ///
            /// # Errors
            /// Those of the sink.
            pub fn show(&self, setting: Setting, out: &mut dyn fmt::Write) -> fmt::Result {
                match setting { $(Setting::$name => $kind.show(&self.$field, out),)* }
            }

            /// The value of one setting; [`Scalar::Null`] where the choice is left to the firmware.
            pub fn value(&self, setting: Setting) -> Scalar {
                match setting { $(Setting::$name => Scalar::of(&self.$field),)* }
            }
        }
    };
}

settings! {
    Temperature temperature: Option<f32> = None, Now, Or("default", Within(0.0..=5.0)),
        "a number from 0 to 5, or default", "0 always takes the likeliest token; default is 0.7 for a person";
    TopK top_k: usize = 40, Now, Within(0..=usize::MAX),
        "a whole number; 0 is all", "chooses among the k likeliest tokens";
    TopP top_p: f32 = 0.95, Now, Within(f32::MIN_POSITIVE..=1.0),
        "a number above 0, up to 1", "chooses among the likeliest tokens that have this probability together";
    MinP min_p: f32 = 0.05, Now, Within(0.0..=1.0),
        "a number from 0 to 1", "drops tokens less likely than this, relative to the likeliest";
    RepeatPenalty repeat_penalty: Option<f32> = None, Now, Or("default", Within(0.1..=10.0)),
        "a number from 0.1 to 10, or default", "divides the logits of recent tokens; 1 is off";
    Seed seed: Option<u64> = None, Now, Or("random", Within(0..=u64::MAX)),
        "a whole number, or random", "equal seeds give equal answers";
    MaxTokens max_tokens: Option<usize> = Some(512), Now, Or("full", Within(1..=usize::MAX)),
        "a whole number above 0, or full", "the most tokens of an answer";
    StopRepetition stop_repetition: bool = true, Now, OnOff,
        "on or off", "ends an answer that repeats itself";
    Speculate speculate ("guess"): usize = 0, Now, UpTo(MAX_DRAFT_TOKENS),
        "off, on, or a whole number up to 7", "drafts tokens that repeat the context, checks several in one pass";
    System system: Option<String> = None, Reset, Or("default", Text),
        "any text; empty is none; default is the model's own", "the system prompt";
    Think think: bool = false, Now, OnOff,
        "on or off", "lets a model that can think do so before it answers";
    Stats stats: bool = true, Now, OnOff,
        "on or off", "the line with the numbers after each answer";
    Columns columns: usize = 80, Now, Within(20..=1000),
        "a whole number from 20 to 1000", "the width of the terminal";
    Model model: Option<String> = None, Boot, FileName,
        "a file name", "the model to load at start";
    Cores cores: Option<usize> = None, Now, Or("all", Within(1..=4)),
        "a whole number from 1 to 4, or all", "the cores that work";
    Context context: Option<usize> = None, Load, Or("auto", Within(1..=usize::MAX)),
        "a whole number above 0, or auto", "tokens that the model keeps in view";
    Kv kv: Option<KvType> = None, Load, Or("auto", Words),
        "f32, f16, int8 or auto", "how keys and values are kept";
    Kernels kernels: KernelSet = KernelSet::Int8, Now, Words,
        "reference, dequantize or int8", "the kernels that multiply with the weights";
    Log log: bool = false, Boot, OnOff,
        "on or off", "prints the details of the start-up, as /log does";
    Quiet quiet: bool = false, Boot, OnOff,
        "on or off", "starts without a banner";
    Ready ready: bool = false, Boot, OnOff,
        "on or off", "an event ready when the start is over";
    Baud baud: Option<u32> = None, Now, Or("115200", Within(9600..=4_000_000)),
        "a whole number from 9600 to 4000000", "the speed of the serial line";
}

impl Setting {
    /// The setting called `key`; `-` is as good as `_`, capitals as small letters.
    pub fn named(key: &str) -> Option<Self> {
        let same = |name: &str| {
            let typed = key.chars().map(|c| match c {
                '-' => '_',
                c => c.to_ascii_lowercase(),
            });
            typed.eq(name.chars())
        };
        Self::ALL
            .iter()
            .copied()
            .find(|setting| same(setting.key()) || setting.old_key().is_some_and(same))
    }
}

impl Settings {
    /// Sets `key` to `value`, both as typed.
    ///
    /// # Errors
    /// [`SettingError`]; nothing has changed then.
    pub fn set(&mut self, key: &str, value: &str) -> Result<Setting, SettingError> {
        let setting = Setting::named(key).ok_or_else(|| SettingError::Unknown {
            key: key.to_string(),
        })?;
        match self.read(setting, value.trim()) {
            true => Ok(setting),
            false => Err(SettingError::BadValue {
                setting,
                value: value.to_string(),
            }),
        }
    }
}
