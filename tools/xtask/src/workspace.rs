//! Where things are, and how cargo is called.

use anyhow::{Context, Result, ensure};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use walkdir::{DirEntry, WalkDir};

/// The bare-metal target of the firmware.
pub const TARGET: &str = "aarch64-unknown-none";

/// The folder of the workspace's `Cargo.toml`.
pub fn root() -> PathBuf {
    // tools/xtask, two levels down
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("tools/xtask lies two levels below the root")
        .to_path_buf()
}

/// Cargo's output folder.
pub fn target_dir() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// What xtask makes: images, cards, logs.
pub fn output_dir() -> PathBuf {
    target_dir().join("pilm")
}

/// The files below `folder`, folders named `target` and hidden ones left out.
///
/// # Errors
/// A folder cannot be listed.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let skipped = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() > 0 && (name == "target" || name.starts_with('.'))
    };
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter();
    let mut files = Vec::new();
    for entry in entries.filter_entry(|entry| !skipped(entry)) {
        let entry = entry?;
        if entry.file_type().is_file() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

/// What `command` prints.
///
/// # Errors
/// It cannot be started, or does not succeed.
pub fn printed(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("{program} cannot be started"))?;
    ensure!(
        output.status.success(),
        "{program} failed ({}), and said:\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The text of a file.
///
/// # Errors
/// It cannot be read, or is no UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

/// The cargo that runs us, in the workspace's root.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}
