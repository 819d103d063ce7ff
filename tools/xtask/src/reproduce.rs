//! The same source gives the same kernel in every folder: builds it in a second one and compares.

use crate::digest::hex;
use crate::firmware::{Firmware, anywhere_the_same};
use crate::raw_image::flatten;
use crate::setup::rustc;
use crate::voice::Voice;
use crate::workspace::{TARGET, cargo, output_dir, root};
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Builds a copy of the workspace elsewhere and compares its kernel with `firmware`.
///
/// # Errors
/// The kernels differ, or the copy does not build.
pub fn check(voice: Voice, firmware: &Firmware) -> Result<()> {
    let elsewhere = output_dir().join("elsewhere");
    copy_sources(&elsewhere)?;
    let mut build = cargo();
    build
        .current_dir(&elsewhere)
        .env("CARGO_TARGET_DIR", elsewhere.join("target"))
        .args(["build", "--release", "--locked", "--target", TARGET])
        .args(["--package", "kernel"])
        .args(anywhere_the_same(&elsewhere));
    if let Some(commit) = &firmware.commit {
        build.env("PILM_COMMIT", commit);
    }
    voice.run(
        "Building the kernel a second time, in another folder",
        &mut build,
    )?;
    let elf = elsewhere.join("target").join(TARGET).join("release/kernel");
    let second = flatten(&fs::read(&elf).with_context(|| format!("reading {}", elf.display()))?)?;
    let (here, there) = (sha256(&firmware.image.bytes), sha256(&second.bytes));
    if here != there {
        bail!(
            "the kernel is not reproducible: kernel8.img is {here} here and {there} in {}",
            elsewhere.display()
        );
    }
    // another rustc gives other bytes
    let rustc = rustc::version()?;
    voice.say(format!(
        "kernel8.img is {here} in both folders, by rustc {rustc}."
    ));
    Ok(())
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Copies the files that git knows, as they are now.
fn copy_sources(to: &Path) -> Result<()> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output()
        .context("git cannot be started: it lists the source files")?;
    let names = String::from_utf8(output.stdout)?;
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (root().join(name), to.join(name));
        // listed, but deleted in the working tree
        if !from.exists() {
            continue;
        }
        if let Some(dir) = to.parent() {
            fs::create_dir_all(dir)?;
        }
        if fs::read(&from)? != fs::read(&to).unwrap_or_default() {
            fs::copy(&from, &to).with_context(|| format!("copying {name}"))?;
        }
    }
    Ok(())
}
