//! Settings as text and as JSON.

use super::{KvType, Setting, Settings};
use crate::json::Object;
use core::fmt;

impl Settings {
    /// Writes the value of one setting as it would be typed.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_value(&self, setting: Setting, out: &mut dyn fmt::Write) -> fmt::Result {
        fn optional(
            out: &mut dyn fmt::Write,
            value: Option<impl fmt::Display>,
            none: &str,
        ) -> fmt::Result {
            match value {
                Some(value) => write!(out, "{value}"),
                None => out.write_str(none),
            }
        }
        let on_off = |on: bool| if on { "on" } else { "off" };
        match setting {
            Setting::Temperature => write!(out, "{}", self.temperature),
            Setting::TopK => write!(out, "{}", self.top_k),
            Setting::TopP => write!(out, "{}", self.top_p),
            Setting::MinP => write!(out, "{}", self.min_p),
            Setting::RepeatPenalty => write!(out, "{}", self.repeat_penalty),
            Setting::Seed => optional(out, self.seed, "random"),
            Setting::MaxTokens => optional(out, self.max_tokens, "full"),
            Setting::Guess if self.guess == 0 => out.write_str("off"),
            Setting::Guess => write!(out, "{}", self.guess),
            Setting::System => optional(
                out,
                self.system.as_ref().map(|text| quoted(text)),
                "default",
            ),
            Setting::Stats => out.write_str(on_off(self.stats)),
            Setting::Columns => write!(out, "{}", self.columns),
            Setting::Model => optional(out, self.model.as_deref(), "-"),
            Setting::Cores => optional(out, self.cores, "all"),
            Setting::Context => optional(out, self.context, "auto"),
            Setting::Kv => optional(out, self.kv.map(KvType::name), "auto"),
            Setting::Kernels => out.write_str(self.kernels.name()),
            Setting::Quiet => out.write_str(on_off(self.quiet)),
            Setting::Baud => optional(out, self.baud, "115200"),
        }
    }

    /// Adds the value of one setting to a JSON object, as a number, a truth value or a string; `null` where
    /// the choice is left to the firmware.
    pub fn write_field(&self, setting: Setting, object: &mut Object<'_>) {
        let key = setting.key();
        match setting {
            Setting::Temperature => object.field(key, self.temperature),
            Setting::TopK => object.field(key, self.top_k),
            Setting::TopP => object.field(key, self.top_p),
            Setting::MinP => object.field(key, self.min_p),
            Setting::RepeatPenalty => object.field(key, self.repeat_penalty),
            Setting::Seed => object.field(key, self.seed),
            Setting::MaxTokens => object.field(key, self.max_tokens),
            Setting::Guess => object.field(key, self.guess),
            Setting::System => object.field(key, self.system.as_deref()),
            Setting::Stats => object.field(key, self.stats),
            Setting::Columns => object.field(key, self.columns),
            Setting::Model => object.field(key, self.model.as_deref()),
            Setting::Cores => object.field(key, self.cores),
            Setting::Context => object.field(key, self.context),
            Setting::Kv => object.field(key, self.kv.map(KvType::name)),
            Setting::Kernels => object.field(key, self.kernels.name()),
            Setting::Quiet => object.field(key, self.quiet),
            Setting::Baud => object.field(key, self.baud),
        };
    }
}

fn quoted(text: &str) -> impl fmt::Display + '_ {
    struct Quoted<'a>(&'a str);
    impl fmt::Display for Quoted<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{:?}", self.0)
        }
    }
    Quoted(text)
}
