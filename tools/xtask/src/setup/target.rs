//! Rust's core library for the board.

use super::rustc::rustc;
use super::{exists, rust_source};
use crate::voice::Voice;
use crate::workspace::{TARGET, output_dir};
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::{Command, Stdio};

/// Makes sure that crates can be compiled for the board.
///
/// # Errors
/// The target is missing and cannot be installed; the message says what to do.
pub fn ensure(voice: Voice) -> Result<()> {
    if works()? {
        return Ok(());
    }
    let added = exists("rustup").then(|| {
        voice.run(
            &format!("Installing Rust's {TARGET} target"),
            Command::new("rustup").args(["target", "add", TARGET]),
        )
    });
    if matches!(added, Some(Ok(()))) && works()? {
        return Ok(());
    }
    voice.say(unavailable(added.is_some()));
    rust_source::build_target(voice).with_context(advice)?;
    if !works()? {
        bail!(
            "the target was made, but rustc cannot use it: was rustc updated meanwhile? Start again"
        );
    }
    Ok(())
}

/// Compiles a crate of two lines for the board: files that are there but belong to another rustc do not count.
fn works() -> Result<bool> {
    let dir = output_dir().join("setup");
    fs::create_dir_all(&dir)?;
    let probe = dir.join("target_probe.rs");
    fs::write(&probe, "#![no_std]\nextern crate alloc;\n")?;
    let status = Command::new(rustc())
        .args(["--crate-type=lib", "--emit=metadata", "--target", TARGET])
        .arg("--out-dir")
        .arg(&dir)
        .arg(&probe)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("rustc cannot be started: install Rust first")?;
    Ok(status.success())
}

/// Why `rustup target add` did not do it.
fn unavailable(has_rustup: bool) -> &'static str {
    if has_rustup {
        "rustup could not install it: looking for Debian's source package of exactly this rustc."
    } else {
        "There is no rustup: looking for Debian's source package of exactly this rustc."
    }
}

/// What a person can do about it.
fn advice() -> String {
    format!(
        "rustc has no {TARGET} target: run `rustup target add {TARGET}` where Rust's servers can be reached, \
         then start again"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn the_advice_names_the_command() {
        assert!(advice().contains("rustup target add aarch64-unknown-none"));
    }

    #[test]
    fn a_rustup_that_fails_is_told_from_none() {
        assert!(unavailable(true).starts_with("rustup could not"));
        assert!(unavailable(false).starts_with("There is no rustup"));
    }

    #[test]
    fn no_file_pins_a_toolchain() {
        // its targets or components would have to be downloaded before cargo starts, on every machine
        for name in ["rust-toolchain", "rust-toolchain.toml"] {
            assert!(!root().join(name).exists(), "{name}");
        }
    }
}
