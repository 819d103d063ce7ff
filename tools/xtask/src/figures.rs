//! `docs/figures/NAME.json`: what was counted, as data. Pages are rendered from it, bars are compared with it.

use crate::workspace::{read_text, root};
use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    root().join("docs/figures").join(format!("{name}.json"))
}

/// The figures of `name`.
///
/// # Errors
/// The file is missing, or holds something else.
pub fn read<T: DeserializeOwned>(name: &str) -> Result<T> {
    let path = path(name);
    serde_json::from_str(&read_text(&path)?)
        .with_context(|| format!("{} is not what this program writes", path.display()))
}

/// Replaces the figures of `name`.
///
/// # Errors
/// The file cannot be written.
pub fn write<T: Serialize>(name: &str, figures: &T) -> Result<()> {
    let path = path(name);
    let text = serde_json::to_string_pretty(figures)? + "\n";
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}
