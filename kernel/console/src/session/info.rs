//! `/info` and the op `info`.

use super::banner::BoardLine;
use super::platform::{BoardFacts, Health};
use super::screen::{Screen, Size, say};
use crate::json::Object;
use crate::line_editor::{MAX_JSON_BYTES, MAX_LINE_BYTES};
use crate::settings::{Setting, Settings};
use alloc::string::String;
use core::fmt;
use llm::engine::LoadTimes;
use llm::model_file;

/// A loaded model in facts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelFacts {
    /// The file's name.
    pub file: String,
    /// What the file's header says.
    pub header: model_file::ModelFacts,
    /// Tokens of the context.
    pub context_len: usize,
    /// Type of the KV cache.
    pub kv: &'static str,
    /// The chat template's family.
    pub template: Option<&'static str>,
    /// The tokenizer's kind.
    pub tokenizer: &'static str,
    /// Bytes read from the card.
    pub load_bytes: u64,
    /// Time of the load.
    pub load_us: u64,
    /// What its parts took.
    pub load_times: LoadTimes,
}

impl ModelFacts {
    /// The fields of the model in JSON; `used` tokens of the context are taken.
    pub(super) fn write(&self, object: &mut Object<'_>, used: usize) {
        object
            .field("file", self.file.as_str())
            .field("name", self.header.name.as_deref())
            .field("architecture", self.header.architecture)
            .field("format", self.header.format.as_str())
            .field("parameters", self.header.parameters)
            .field("tensor_bytes", self.header.tensor_bytes)
            .field("bytes_per_token", self.header.bytes_per_token)
            .field("context_len", self.context_len)
            .field("context_used", used)
            .field("trained_len", self.header.trained_len)
            .field("kv", self.kv)
            .field("template", self.template)
            .field("tokenizer", self.tokenizer)
            .field("vocab_size", self.header.vocab_size)
            .field("load_bytes", self.load_bytes)
            .field("load_s", self.load_us as f64 / 1e6);
    }

    /// The fields of the load's times in JSON.
    pub(super) fn write_timing(&self, object: &mut Object<'_>, emulated: bool) {
        let times = self.load_times;
        object
            .field("emulated", emulated)
            .field("read_s", times.read_us as f64 / 1e6)
            .field("pack_s", times.pack_us as f64 / 1e6)
            .field("checksum_s", times.checksum_us as f64 / 1e6)
            .field("total_s", self.load_us as f64 / 1e6);
    }

    /// The load in one line.
    fn load_line(&self, emulated: bool) -> impl fmt::Display + '_ {
        struct Line<'a>(&'a ModelFacts, bool);
        impl fmt::Display for Line<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Line(model, emulated) = self;
                let times = model.load_times;
                write!(
                    f,
                    "{} in {:.2} s: reading {:.2} s, beside it packing {:.2} s and checksum {:.2} s",
                    Size(model.load_bytes),
                    model.load_us as f64 / 1e6,
                    times.read_us as f64 / 1e6,
                    times.pack_us as f64 / 1e6,
                    times.checksum_us as f64 / 1e6
                )?;
                if *emulated {
                    f.write_str(" (an emulator's times are no speeds)")?;
                }
                Ok(())
            }
        }
        Line(self, emulated)
    }

    /// The model in one line.
    pub fn summary(&self) -> impl fmt::Display + '_ {
        struct Summary<'a>(&'a ModelFacts);
        impl fmt::Display for Summary<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let model = self.0;
                write!(
                    f,
                    "{}: {}, {:.1} M weights, {} ({}), context {} in {}",
                    model.file,
                    model.header.architecture,
                    model.header.parameters as f64 / 1e6,
                    model.header.format,
                    Size(model.header.tensor_bytes),
                    model.context_len,
                    model.kv
                )
            }
        }
        Summary(self)
    }
}

/// `/info`.
pub(super) fn show(
    screen: Screen<'_>,
    facts: &BoardFacts,
    health: &Health,
    settings: &Settings,
    model: Option<(&ModelFacts, usize)>,
) {
    say!(screen, "firmware PiLM {}", facts.version);
    say!(
        screen,
        "board    {}, revision {:06x}",
        BoardLine(facts),
        facts.revision
    );
    if let Some(celsius) = health.celsius {
        say!(
            screen,
            "SoC      {celsius:.1} C, throttle flags {}",
            Flags(health.throttled)
        );
    }
    if let (Some(used), Some(size)) = (health.heap_used_bytes, health.heap_bytes) {
        say!(
            screen,
            "heap     {} of {}",
            Size(used as u64),
            Size(size as u64)
        );
    }
    for (core, (used, size)) in health.stacks.iter().enumerate() {
        say!(screen, "stack {core}  at most {used} of {size} bytes used");
    }
    if let Some(card) = &health.card {
        say!(screen, "card     {card}");
    }
    match model {
        None => say!(
            screen,
            "model    none is loaded; /models lists those on the card"
        ),
        Some((model, used)) => {
            say!(screen, "model    {}", model.summary());
            if let Some(name) = &model.header.name {
                // It comes from the file, which must not steer the terminal.
                let name = name.replace(char::is_control, "\u{FFFD}");
                say!(screen, "name     {name}");
            }
            say!(
                screen,
                "reads    {} of tensors per token",
                Size(model.header.bytes_per_token)
            );
            say!(screen, "kernels  {}", settings.kernels);
            say!(screen, "load     {}", model.load_line(facts.emulated));
            say!(screen, "trained  for {} tokens", model.header.trained_len);
            say!(
                screen,
                "chat     {}",
                model
                    .template
                    .unwrap_or("no template that is known: text is continued as it is")
            );
            say!(
                screen,
                "tokens   {}, {} ids",
                model.tokenizer,
                model.header.vocab_size
            );
            say!(
                screen,
                "context  {used} of {} tokens used",
                model.context_len
            );
            match settings.guess {
                0 => say!(screen, "guess    off"),
                n => say!(
                    screen,
                    "guess    up to {n} tokens that repeat the context, checked in one pass"
                ),
            }
        }
    }
}

struct Flags(Option<u32>);
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(0) => f.write_str("none"),
            Some(flags) => write!(f, "0x{flags:x}"),
            None => f.write_str("unknown"),
        }
    }
}

/// The fields of the op `info`.
pub(super) fn write(
    object: &mut Object<'_>,
    facts: &BoardFacts,
    health: &Health,
    settings: &Settings,
    model: Option<(&ModelFacts, usize)>,
) {
    object
        .field("firmware", "PiLM")
        .field("version", facts.version.as_str());
    object.object("board", |board| {
        board
            .field("name", facts.board.as_str())
            .field("revision", format_args!("{:06x}", facts.revision))
            .field("ram_bytes", facts.ram_bytes)
            .field("cores", facts.cores)
            .field("clock_hz", facts.clock_hz)
            .field("emulated", facts.emulated);
        board.array("warnings", |warnings| {
            facts.warnings.iter().for_each(|warning| {
                warnings.push(warning.as_str());
            });
        });
    });
    object.object("health", |object| {
        object
            .field("celsius", health.celsius)
            .field("throttled", health.throttled)
            .field("heap_used_bytes", health.heap_used_bytes)
            .field("heap_bytes", health.heap_bytes)
            .field("card", health.card.as_deref());
        object.array("stacks", |stacks| {
            for &(used, size) in &health.stacks {
                stacks.object(|stack| {
                    stack.field("used_bytes", used).field("bytes", size);
                });
            }
        });
    });
    match model {
        None => {
            object.field("model", None::<u8>);
        }
        Some((model, used)) => {
            object.object("model", |object| model.write(object, used));
        }
    }
    object.object("settings", |object| {
        for &setting in Setting::ALL {
            settings.write_field(setting, object);
        }
    });
    object.object("limits", |limits| {
        limits
            .field("request_bytes", MAX_JSON_BYTES)
            .field("line_bytes", MAX_LINE_BYTES);
    });
}
