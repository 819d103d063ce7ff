//! The same source gives the same kernel in every folder: builds it in a second one and compares.

use crate::firmware::{Firmware, build_elf_in, flat};
use crate::setup::rustc;
use crate::voice::Voice;
use crate::workspace::{output_dir, printed, root};
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
    let what = "Building the kernel a second time, in another folder";
    let (target, commit) = (elsewhere.join("target"), firmware.commit.as_deref());
    let elf = build_elf_in(&elsewhere, &target, voice, what, ["kernel"; 2], commit)?;
    let second = flat(&fs::read(&elf).with_context(|| format!("reading {}", elf.display()))?)?;
    let [here, there] =
        [&firmware.image.bytes, &second.bytes].map(|bytes| format!("{:x}", Sha256::digest(bytes)));
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

/// Copies the files that git knows, as they are now.
fn copy_sources(to: &Path) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others"])
        .arg("--exclude-standard")
        .current_dir(root());
    let names = printed(&mut git).context("git lists the source files")?;
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
