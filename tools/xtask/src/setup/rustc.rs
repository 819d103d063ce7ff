//! The compiler that cargo uses.

use crate::workspace::printed;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// Its program.
pub(crate) fn rustc() -> PathBuf {
    std::env::var_os("RUSTC").map_or_else(|| "rustc".into(), PathBuf::from)
}

/// Its version, such as `1.95.0`.
pub(crate) fn version() -> Result<String> {
    let text = prints(&["--version"])?;
    let version = version_of(&text).with_context(|| format!("rustc tells no version: {text}"))?;
    Ok(version.to_owned())
}

/// The folder that its libraries are in.
pub(super) fn sysroot() -> Result<PathBuf> {
    Ok(PathBuf::from(prints(&["--print", "sysroot"])?))
}

/// `rustc 1.95.0 (59807616e 2026-04-14)` is version 1.95.0.
fn version_of(text: &str) -> Option<&str> {
    text.strip_prefix("rustc ")?.split_whitespace().next()
}

fn prints(arguments: &[&str]) -> Result<String> {
    let text =
        printed(Command::new(rustc()).args(arguments)).context("Rust has to be installed")?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_second_word() {
        assert_eq!(
            version_of("rustc 1.95.0 (59807616e 2026-04-14)"),
            Some("1.95.0")
        );
        assert_eq!(
            version_of("rustc 1.97.0-nightly (abc)"),
            Some("1.97.0-nightly")
        );
        assert_eq!(version_of("error: no toolchain"), None);
    }
}
