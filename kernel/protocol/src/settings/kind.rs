//! What values a setting takes: how they are read and shown.

use alloc::string::{String, ToString};
use core::fmt::{self, Display, Write};
use core::ops::RangeInclusive;
use core::str::FromStr;
use serde::de::value::{Error as Unknown, StringDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

/// A set of values of type `T` with their words.
pub(super) trait Kind<T> {
    /// The value that `word` stands for, if it is one of this kind.
    fn read(&self, word: &str) -> Option<T>;

    /// Writes the word for `value`.
    fn show(&self, value: &T, out: &mut dyn Write) -> fmt::Result;
}

/// Numbers in a range.
pub(super) struct Within<T>(pub RangeInclusive<T>);

impl<T: FromStr + PartialOrd + Display> Kind<T> for Within<T> {
    fn read(&self, word: &str) -> Option<T> {
        word.parse().ok().filter(|value| self.0.contains(value))
    }

    fn show(&self, value: &T, out: &mut dyn Write) -> fmt::Result {
        write!(out, "{value}")
    }
}

/// A word for no value, or a value of another kind.
pub(super) struct Or<K>(pub &'static str, pub K);

impl<T, K: Kind<T>> Kind<Option<T>> for Or<K> {
    fn read(&self, word: &str) -> Option<Option<T>> {
        match word.eq_ignore_ascii_case(self.0) {
            true => Some(None),
            false => self.1.read(word).map(Some),
        }
    }

    fn show(&self, value: &Option<T>, out: &mut dyn Write) -> fmt::Result {
        match value {
            Some(value) => self.1.show(value, out),
            None => out.write_str(self.0),
        }
    }
}

/// Words of an enumeration.
pub(super) struct Words;

impl<T: DeserializeOwned + Display> Kind<T> for Words {
    fn read(&self, word: &str) -> Option<T> {
        let word: StringDeserializer<Unknown> = word.to_ascii_lowercase().into_deserializer();
        T::deserialize(word).ok()
    }

    fn show(&self, value: &T, out: &mut dyn Write) -> fmt::Result {
        write!(out, "{value}")
    }
}

/// Truth values.
pub(super) struct OnOff;

impl Kind<bool> for OnOff {
    fn read(&self, word: &str) -> Option<bool> {
        match word.to_ascii_lowercase().as_str() {
            "on" | "yes" | "true" | "1" => Some(true),
            "off" | "no" | "false" | "0" => Some(false),
            _ => None,
        }
    }

    fn show(&self, value: &bool, out: &mut dyn Write) -> fmt::Result {
        out.write_str(if *value { "on" } else { "off" })
    }
}

/// Numbers up to a largest one: `on` is the largest, `off` is 0.
pub(super) struct UpTo(pub usize);

impl Kind<usize> for UpTo {
    fn read(&self, word: &str) -> Option<usize> {
        let number = word.parse().ok();
        number
            .or_else(|| OnOff.read(word).map(|on| usize::from(on) * self.0))
            .filter(|&n| n <= self.0)
    }

    fn show(&self, value: &usize, out: &mut dyn Write) -> fmt::Result {
        match value {
            0 => out.write_str("off"),
            n => write!(out, "{n}"),
        }
    }
}

/// Text, shown in quotes.
pub(super) struct Text;

impl Kind<String> for Text {
    fn read(&self, word: &str) -> Option<String> {
        Some(unquoted(word).to_string())
    }

    fn show(&self, value: &String, out: &mut dyn Write) -> fmt::Result {
        write!(out, "{value:?}")
    }
}

/// The name of a file; an empty one is none.
pub(super) struct FileName;

impl Kind<Option<String>> for FileName {
    fn read(&self, word: &str) -> Option<Option<String>> {
        Some(Some(unquoted(word).to_string()).filter(|name| !name.is_empty()))
    }

    fn show(&self, value: &Option<String>, out: &mut dyn Write) -> fmt::Result {
        out.write_str(value.as_deref().unwrap_or("-"))
    }
}

/// Text without the double quotes around it.
pub(super) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text)
}
