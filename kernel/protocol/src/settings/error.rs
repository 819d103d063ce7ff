//! Why a setting was not changed.

use super::Setting;
use alloc::string::String;
use core::fmt;

/// Why a setting was not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingError {
    /// No setting has this name.
    Unknown {
        /// The name.
        key: String,
    },
    /// The value is not one that the setting may have.
    BadValue {
        /// The setting.
        setting: Setting,
        /// The value.
        value: String,
    },
    /// A word of the kernel command line with a double quote that nothing closes.
    OpenQuote {
        /// The word.
        word: String,
    },
    /// A line of `pilm.txt` without `=`.
    NoEquals {
        /// Its number, counted from 1.
        line: usize,
    },
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { key } => {
                write!(f, "no setting is called {key:?}; there are")?;
                Setting::ALL
                    .iter()
                    .try_for_each(|setting| write!(f, " {}", setting.key()))
            }
            Self::BadValue { setting, value } => {
                let (key, allowed) = (setting.key(), setting.allowed());
                write!(f, "{key} cannot be {value:?}: it takes {allowed}")
            }
            Self::OpenQuote { word } => write!(
                f,
                "{word} begins a quote that nothing closes: it is left out"
            ),
            Self::NoEquals { line } => write!(f, "line {line} is not NAME = VALUE"),
        }
    }
}

impl core::error::Error for SettingError {}
