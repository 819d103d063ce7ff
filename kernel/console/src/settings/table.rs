//! The table: names, values, meanings.

use llm::sampler;

macro_rules! settings {
    ($($name:ident $key:literal $when:ident $allowed:literal $about:literal;)*) => {
        /// One setting.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Setting {
            $(#[doc = $about] $name,)*
        }

        impl Setting {
            /// All settings, in the order of the help text.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name it is set by.
            pub fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)* }
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
                match self { $(Self::$name => Effect::$when,)* }
            }
        }
    };
}

/// When a changed setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// With the next answer.
    Now,
    /// With the next conversation.
    Reset,
    /// When a model is loaded.
    Load,
    /// When the board starts: only in `pilm.txt` and on the kernel command line.
    Boot,
}

settings! {
    Temperature   "temperature"    Now   "a number from 0 to 5"            "0 always takes the likeliest token";
    TopK          "top_k"          Now   "a whole number; 0 is all"        "chooses among the k likeliest tokens";
    TopP          "top_p"          Now   "a number above 0, up to 1"       "chooses among the likeliest tokens that have this probability together";
    MinP          "min_p"          Now   "a number from 0 to 1"            "drops tokens less likely than this, relative to the likeliest";
    RepeatPenalty "repeat_penalty" Now   "a number from 0.1 to 10"         "divides the logits of recent tokens; 1 is off";
    Seed          "seed"           Now   "a whole number, or random"       "equal seeds give equal answers";
    MaxTokens     "max_tokens"     Now   "a whole number above 0, or full" "the most tokens of an answer";
    Guess         "guess"          Now   "off, on, or a whole number up to 7" "guesses tokens that repeat the context, checks several in one pass";
    System        "system"         Reset "any text; empty is none; default is the model's own" "the system prompt";
    Stats         "stats"          Now   "on or off"                       "the line with the numbers after each answer";
    Columns       "columns"        Now   "a whole number from 20 to 1000"  "the width of the terminal";
    Model         "model"          Boot  "a file name"                     "the model to load at start";
    Cores         "cores"          Now   "a whole number from 1 to 4, or all""the cores that work";
    Context       "context"        Load  "a whole number above 0, or auto" "tokens that the model keeps in view";
    Kv            "kv"             Load  "f32, f16, int8 or auto"          "how keys and values are kept";
    Kernels       "kernels"        Now   "scalar, plain or tuned"          "the generation of kernels that multiplies with the weights";
    Quiet         "quiet"          Boot  "on or off"                       "starts without a banner";
    Baud          "baud"           Boot  "a whole number from 9600 to 4000000" "the speed of the serial line";
}

impl Setting {
    /// The setting called `key`; `-` is as good as `_`, capitals as small letters.
    pub fn named(key: &str) -> Option<Self> {
        let equal = |a: char, b: char| a == b || (a == '_' && b == '-');
        Self::ALL.iter().copied().find(|setting| {
            setting.key().len() == key.len()
                && setting
                    .key()
                    .chars()
                    .zip(key.chars())
                    .all(|(a, b)| equal(a, b.to_ascii_lowercase()))
        })
    }

    /// Whether a number is in this setting's range.
    pub fn allows(self, value: f32) -> bool {
        match self {
            Self::Temperature => sampler::Settings::TEMPERATURE.contains(&value),
            Self::TopP => sampler::Settings::TOP_P.contains(&value),
            Self::MinP => sampler::Settings::MIN_P.contains(&value),
            Self::RepeatPenalty => sampler::Settings::REPEAT_PENALTY.contains(&value),
            _ => true,
        }
    }
}
