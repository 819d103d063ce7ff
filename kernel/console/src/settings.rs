//! Everything that can be set, in one table.
//!
//! The same names are used by the kernel command line (`pilm.NAME=VALUE`), by `pilm.txt` (`NAME = VALUE`),
//! by `/set NAME VALUE` and by the JSON op `set`; later ones override earlier ones.

mod error;
mod show;
mod table;

use alloc::string::{String, ToString};
use llm::lookup::Lookup;
use ops::matrix::Kernels;

pub use error::SettingError;
pub use table::{Effect, Setting};

/// The settings of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// 0 is greedy.
    pub temperature: f32,
    /// The number of likeliest tokens to choose from; 0 is all.
    pub top_k: usize,
    /// The probability mass to choose from.
    pub top_p: f32,
    /// The least probability, relative to the likeliest token's.
    pub min_p: f32,
    /// What the logits of recent tokens are divided by; 1 is off.
    pub repeat_penalty: f32,
    /// Of the generator; none takes the clock's.
    pub seed: Option<u64>,
    /// The most tokens of an answer; none is up to the end of the context.
    pub max_tokens: Option<usize>,
    /// The most tokens that are guessed and checked in one pass; 0 guesses nothing.
    pub guess: usize,
    /// The system prompt; none is the template family's own, empty is no system message.
    pub system: Option<String>,
    /// Whether a status line follows each answer.
    pub stats: bool,
    /// Columns of the terminal.
    pub columns: usize,
    /// The model file to load at start.
    pub model: Option<String>,
    /// The number of cores that work.
    pub cores: Option<usize>,
    /// The context length to reserve.
    pub context: Option<usize>,
    /// The type of the KV cache.
    pub kv: Option<KvType>,
    /// What multiplies.
    pub kernels: Kernels,
    /// Whether the banner is left out.
    pub quiet: bool,
    /// Bits per second of the UART.
    pub baud: Option<u32>,
}

/// How keys and values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KvType {
    /// 4 bytes per number.
    F32,
    /// 2 bytes per number.
    F16,
    /// 1 byte per number, and a scale for each head's key and value.
    I8,
}

impl KvType {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::I8 => "int8",
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            repeat_penalty: 1.0,
            seed: None,
            max_tokens: Some(512),
            guess: 0,
            system: None,
            stats: true,
            columns: 80,
            model: None,
            cores: None,
            context: None,
            kv: None,
            kernels: Kernels::default(),
            quiet: false,
            baud: None,
        }
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
        let word = value.trim();
        let done = match setting {
            Setting::Temperature => put(&mut self.temperature, number(setting, word)),
            Setting::TopP => put(&mut self.top_p, number(setting, word)),
            Setting::MinP => put(&mut self.min_p, number(setting, word)),
            Setting::RepeatPenalty => put(&mut self.repeat_penalty, number(setting, word)),
            Setting::TopK => put(&mut self.top_k, word.parse().ok()),
            Setting::Seed => put(&mut self.seed, optional(word, "random", |_| true)),
            Setting::MaxTokens => put(&mut self.max_tokens, optional(word, "full", |&n| n > 0)),
            Setting::Guess => put(&mut self.guess, guess(word)),
            Setting::System => {
                let text = unquoted(word);
                put(
                    &mut self.system,
                    Some((word != "default").then(|| text.to_string())),
                )
            }
            Setting::Stats => put(&mut self.stats, on_off(word)),
            Setting::Columns => put(
                &mut self.columns,
                word.parse().ok().filter(|n| (20..=1000).contains(n)),
            ),
            Setting::Model => put(
                &mut self.model,
                Some(Some(unquoted(word).to_string()).filter(|name| !name.is_empty())),
            ),
            Setting::Cores => put(
                &mut self.cores,
                optional(word, "all", |n| (1..=4).contains(n)),
            ),
            Setting::Context => put(&mut self.context, optional(word, "auto", |&n| n > 0)),
            Setting::Kv => put(
                &mut self.kv,
                match word.to_ascii_lowercase().as_str() {
                    "f32" => Some(Some(KvType::F32)),
                    "f16" => Some(Some(KvType::F16)),
                    "int8" => Some(Some(KvType::I8)),
                    "auto" => Some(None),
                    _ => None,
                },
            ),
            Setting::Kernels => put(&mut self.kernels, word.parse().ok()),
            Setting::Quiet => put(&mut self.quiet, on_off(word)),
            Setting::Baud => put(
                &mut self.baud,
                word.parse()
                    .ok()
                    .filter(|n| (9600..=4_000_000).contains(n))
                    .map(Some),
            ),
        };
        match done {
            true => Ok(setting),
            false => Err(SettingError::BadValue {
                setting,
                value: value.to_string(),
            }),
        }
    }
    /// Takes the `pilm.NAME=VALUE` words of a kernel command line; values with spaces stand in double
    /// quotes. Other words belong to others. What is wrong is handed to `report`.
    pub fn apply_command_line(&mut self, line: &str, report: &mut dyn FnMut(SettingError)) {
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let mut quoted = false;
            let end = rest
                .find(|c: char| {
                    quoted ^= c == '"';
                    c.is_whitespace() && !quoted
                })
                .unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            rest = tail.trim_start();
            let word = word.trim_matches('\0');
            if let Some(option) = word.strip_prefix("pilm.") {
                let (key, value) = option.split_once('=').unwrap_or((option, "on"));
                if let Err(error) = self.set(key, unquoted(value)) {
                    report(error);
                }
            }
        }
    }

    /// Takes the lines of `pilm.txt`: `NAME = VALUE`; empty lines and lines that start with `#` are skipped.
    /// What is wrong is handed to `report`.
    pub fn apply_file(&mut self, text: &str, report: &mut dyn FnMut(SettingError)) {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let done = match line.split_once('=') {
                Some((key, value)) => self.set(key.trim(), unquoted(value.trim())),
                None => Err(SettingError::NoEquals { line: index + 1 }),
            };
            if let Err(error) = done {
                report(error);
            }
        }
    }
}

/// Puts a value in its place if there is one.
fn put<T>(place: &mut T, value: Option<T>) -> bool {
    match value {
        Some(value) => {
            *place = value;
            true
        }
        None => false,
    }
}

fn number(setting: Setting, word: &str) -> Option<f32> {
    word.parse().ok().filter(|&value| setting.allows(value))
}

fn optional<T: core::str::FromStr>(
    word: &str,
    none: &str,
    ok: impl Fn(&T) -> bool,
) -> Option<Option<T>> {
    if word.eq_ignore_ascii_case(none) {
        Some(None)
    } else {
        word.parse().ok().filter(ok).map(Some)
    }
}

fn on_off(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" | "1" => Some(true),
        "off" | "no" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// How many tokens to guess.
pub(crate) fn guess(word: &str) -> Option<usize> {
    let n = match (word.parse(), on_off(word)) {
        (Ok(n), _) => n,
        (Err(_), Some(on)) => usize::from(on) * Lookup::MAX_GUESS,
        (Err(_), None) => return None,
    };
    (n <= Lookup::MAX_GUESS).then_some(n)
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{KvType, Setting, SettingError, Settings};
    use llm::sampler;

    #[test]
    fn every_setting_reads_back_what_it_shows() {
        let settings = Settings {
            system: Some("be brief".into()),
            seed: Some(5),
            ..Settings::default()
        };
        for &setting in Setting::ALL {
            let mut text = String::new();
            settings
                .write_value(setting, &mut text)
                .expect("a String takes everything");
            if matches!(text.as_str(), "-") || (setting == Setting::Baud) {
                continue;
            }
            let mut again = settings.clone();
            assert_eq!(again.set(setting.key(), &text), Ok(setting), "{text}");
            assert_eq!(again, settings, "{}", setting.key());
        }
    }

    #[test]
    fn values_out_of_range_change_nothing() {
        let mut settings = Settings::default();
        for (key, value) in [
            ("temperature", "-1"),
            ("temperature", "NaN"),
            ("temperature", "hot"),
            ("top_p", "0"),
            ("top_k", "-3"),
            ("cores", "5"),
            ("cores", "0"),
            ("seed", "x"),
            ("kv", "f64"),
            ("kernels", "fast"),
            ("stats", "maybe"),
            ("baud", "300"),
            ("max_tokens", "0"),
            ("guess", "8"),
            ("guess", "-1"),
            ("guess", "some"),
        ] {
            let error = settings.set(key, value).expect_err(key);
            assert!(matches!(error, SettingError::BadValue { .. }), "{error}");
        }
        assert!(matches!(
            settings.set("heat", "1"),
            Err(SettingError::Unknown { .. })
        ));
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn what_is_said_to_be_allowed_is() {
        for (setting, range) in [
            (Setting::Temperature, sampler::Settings::TEMPERATURE),
            (Setting::MinP, sampler::Settings::MIN_P),
            (Setting::RepeatPenalty, sampler::Settings::REPEAT_PENALTY),
        ] {
            let said = format!("a number from {} to {}", range.start(), range.end());
            assert_eq!(setting.allowed(), said);
        }
        let said = format!("a number above 0, up to {}", sampler::Settings::TOP_P.end());
        assert_eq!(Setting::TopP.allowed(), said);
    }

    #[test]
    fn guessing_is_a_number_or_a_word() {
        let mut settings = Settings::default();
        assert_eq!(settings.guess, 0);
        for (word, n) in [
            ("on", 7),
            ("3", 3),
            ("1", 1),
            ("off", 0),
            ("yes", 7),
            ("0", 0),
        ] {
            assert_eq!(settings.set("guess", word), Ok(Setting::Guess));
            assert_eq!(settings.guess, n, "{word}");
        }
    }

    #[test]
    fn the_command_line_of_a_pi_is_full_of_other_words() {
        let mut settings = Settings::default();
        let mut errors = Vec::new();
        settings.apply_command_line(
            "coherent_pool=1M snd_bcm2835.enable_hdmi=1 pilm.cores=2 pilm.system=\"You are brief.\" pilm.quiet \
             pilm.nonsense=1 console=ttyS0,115200\0",
            &mut |error| errors.push(error),
        );
        assert_eq!(settings.cores, Some(2));
        assert_eq!(settings.system.as_deref(), Some("You are brief."));
        assert!(settings.quiet);
        assert_eq!(
            errors,
            [SettingError::Unknown {
                key: "nonsense".into()
            }]
        );
    }

    #[test]
    fn a_file_written_on_windows() {
        let mut settings = Settings::default();
        let mut errors = Vec::new();
        settings.apply_file(
            "\u{FEFF}# PiLM\r\nmodel = Smol LM.gguf\r\n\r\nTop-K=5\r\nkv = F16\r\nsystem =\r\nwhat is this\r\n",
            &mut |error| errors.push(error),
        );
        assert_eq!(settings.model.as_deref(), Some("Smol LM.gguf"));
        assert_eq!(settings.top_k, 5);
        assert_eq!(settings.kv, Some(KvType::F16));
        assert_eq!(settings.system.as_deref(), Some(""));
        assert_eq!(errors, [SettingError::NoEquals { line: 7 }]);
    }
}
