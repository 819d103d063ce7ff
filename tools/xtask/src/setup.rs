//! `cargo xtask setup`: what a fresh machine lacks. Each step is skipped when it is done already.

mod apt;
pub mod board_files;
pub mod emulator;
pub mod model;
mod rust_source;
pub(crate) mod rustc;
pub mod target;

use crate::voice::Voice;
use anyhow::Result;
use std::process::{Command, Stdio};

/// Runs every step: the Rust target, QEMU, the default model.
///
/// # Errors
/// A step that cannot be done; the message says what to do.
pub fn setup() -> Result<()> {
    let voice = Voice::new(false);
    target::ensure(voice)?;
    voice.say("Rust target aarch64-unknown-none: ready.");
    emulator::ensure(voice)?;
    voice.say("QEMU: ready.");
    let model = model::ensure(voice)?;
    voice.say(format!("Default model: ready ({}).", model.display()));
    Ok(())
}

/// Whether `command` can be started and succeeds; nothing of it is seen.
fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
