//! Why a setting was not changed.

use super::Setting;
use alloc::string::String;
use alloc::vec::Vec;

/// Why a setting was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No setting has this name.
    #[error("no setting is called {key:?}; there are {}", names())]
    Unknown {
        /// The name.
        key: String,
    },
    /// The value is not one that the setting may have.
    #[error("{} cannot be {value:?}: it takes {}", .setting.key(), .setting.allowed())]
    BadValue {
        /// The setting.
        setting: Setting,
        /// The value.
        value: String,
    },
    /// A word of the kernel command line with a double quote that nothing closes.
    #[error("{word} begins a quote that nothing closes: it is left out")]
    OpenQuote {
        /// The word.
        word: String,
    },
    /// A setting that no section of `pilm.txt` can have.
    #[error("{} is no setting of a model: it stands before the first [NAME]", .setting.key())]
    NotOfModel {
        /// The setting.
        setting: Setting,
    },
    /// A line of `pilm.txt` that begins with `[` and names no model.
    #[error("line {line} is not [NAME]: the beginning of a model's file name stands in brackets")]
    NoName {
        /// Its number, counted from 1.
        line: usize,
    },
    /// A line of `pilm.txt` without `=`.
    #[error("line {line} is not NAME = VALUE")]
    NoEquals {
        /// Its number, counted from 1.
        line: usize,
    },
}

/// The names of all settings.
fn names() -> String {
    let names: Vec<_> = Setting::ALL.iter().map(|setting| setting.key()).collect();
    names.join(" ")
}
