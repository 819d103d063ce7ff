//! Rust's core library for the board.

use super::{exists, rust_source};
use crate::voice::Voice;
use crate::workspace::{TARGET, output_dir};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Makes sure that crates can be compiled for the board.
///
/// # Errors
/// The target is missing and cannot be installed; the message says what to do.
pub fn ensure(voice: Voice) -> Result<()> {
    if works()? {
        return Ok(());
    }
    if exists("rustup") {
        let added = voice.run(
            &format!("Installing Rust's {TARGET} target"),
            Command::new("rustup").args(["target", "add", TARGET]),
        );
        if added.is_ok() && works()? {
            return Ok(());
        }
        voice.say("rustup could not install it: making it from the source package of Debian.");
    } else {
        voice.say("There is no rustup: making the target from the source package of Debian.");
    }
    rust_source::build_target(voice)
        .with_context(|| format!("Rust's {TARGET} target is missing; `rustup target add {TARGET}` is the usual way to get it"))?;
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

/// The rustc that cargo uses.
pub(super) fn rustc() -> PathBuf {
    std::env::var_os("RUSTC").map_or_else(|| "rustc".into(), PathBuf::from)
}
