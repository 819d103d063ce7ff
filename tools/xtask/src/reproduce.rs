//! The same source gives the same kernel in every folder: builds it in a second one and compares.

use crate::firmware::{Firmware, build_elf_in, flat};
use crate::setup::rustc;
use crate::voice::Voice;
use crate::workspace::{output_dir, printed, root};
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use walkdir::WalkDir;

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

/// Copies the files that git knows, as they are now, and removes what an earlier copy has left of others.
fn copy_sources(to: &Path) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others"])
        .arg("--exclude-standard")
        .current_dir(root());
    let names = printed(&mut git).context("git lists the source files")?;
    // listed, but perhaps deleted in the working tree
    let names = names.split('\0').filter(|name| !name.is_empty());
    let names: BTreeSet<&Path> = names
        .map(Path::new)
        .filter(|name| root().join(name).exists())
        .collect();
    remove_others(to, &names)?;
    for name in names {
        let (from, to) = (root().join(name), to.join(name));
        if let Some(dir) = to.parent() {
            fs::create_dir_all(dir)?;
        }
        if fs::read(&from)? != fs::read(&to).unwrap_or_default() {
            fs::copy(&from, &to).with_context(|| format!("copying {}", name.display()))?;
        }
    }
    Ok(())
}

/// Removes the files of `folder` that are not in `names`, its `target` left out: Cargo would take an old test for one.
fn remove_others(folder: &Path, names: &BTreeSet<&Path>) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let inside = WalkDir::new(folder).into_iter();
    for entry in inside.filter_entry(|entry| entry.path() != folder.join("target")) {
        let entry = entry?;
        let name = entry.path().strip_prefix(folder)?;
        if !entry.file_type().is_dir() && !names.contains(name) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_source_any_more_goes_and_target_stays() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("elsewhere");
        remove_others(&folder, &BTreeSet::new()).unwrap();
        for name in ["tests/old.rs", "tests/new.rs", "target/built"] {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, name).unwrap();
        }
        remove_others(&folder, &[Path::new("tests/new.rs")].into()).unwrap();
        let left = ["tests/old.rs", "tests/new.rs", "target/built"];
        assert_eq!(
            left.map(|name| folder.join(name).exists()),
            [false, true, true]
        );
    }
}
