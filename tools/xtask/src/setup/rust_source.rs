//! The board's target out of Debian's package `rust-src`, where Rust's own servers are out of reach.
//!
//! The package holds the source of the core library of exactly one rustc. Compiled once, its three
//! libraries go where `rustup target add` would have put them; from then on everything is stable Rust.

use super::apt::{self, Debian, PrivateApt, Selection};
use super::rustc::{self, sysroot};
use crate::voice::Voice;
use crate::workspace::{TARGET, cargo, files_below, output_dir};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const PACKAGE: &str = "rust-src";
/// Where a recent `rust-src` is, the most stable suite first.
const SUITES: [&str; 4] = ["trixie-backports", "forky-backports", "testing", "unstable"];
/// The libraries that an image links.
const LIBRARIES: [&str; 3] = ["libcore-", "liballoc-", "libcompiler_builtins-"];

/// Makes the target and puts it into rustc's own folder.
pub(super) fn build_target(voice: Voice) -> Result<()> {
    let version = rustc::version()?;
    let sysroot = sysroot()?;
    let libdir = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    fs::create_dir_all(&libdir).with_context(|| {
        format!(
            "{} cannot be written: run `cargo xtask setup` once as the user who installed Rust",
            libdir.display()
        )
    })?;
    let library = unpack_source(voice, &version)?;
    let link = SourceLink::put(&sysroot, &library)?;
    let built = compile(voice, &[&link.path, &library], &version)?;
    drop(link);
    let mut copied = 0;
    for path in files_below(&built)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".rlib") && LIBRARIES.iter().any(|l| name.starts_with(l)) {
            fs::copy(&path, libdir.join(&*name))
                .with_context(|| format!("copying {name} to {}", libdir.display()))?;
            copied += 1;
        }
    }
    ensure!(
        copied == LIBRARIES.len(),
        "the build made {copied} of {} libraries",
        LIBRARIES.len()
    );
    fs::remove_dir_all(source_dir(&version))?;
    Ok(())
}

fn source_dir(version: &str) -> PathBuf {
    output_dir().join(format!("setup/rust-src-{version}"))
}

/// Downloads the package of exactly this rustc; the folder `library` in it.
fn unpack_source(voice: Voice, version: &str) -> Result<PathBuf> {
    let dir = output_dir().join("setup");
    let source = source_dir(version);
    let library = source.join(format!("usr/src/rustc-{version}/library"));
    if library.join("core").is_dir() {
        return Ok(library);
    }
    ensure!(
        apt::has_apt(),
        "no rustup and no apt-get here: install the target with your system's packages"
    );
    let debian = Debian::detect()
        .context("only Debian's own archive has the package rust-src of a recent Rust")?;
    let apt = |suite: &str| {
        let dir = dir.join("apt").join(suite);
        PrivateApt::new(voice, &debian, suite, dir, Selection::HOST)
    };
    let (suite, exact) = search(version, &mut |suite| apt(suite)?.versions(PACKAGE))?;
    apt(suite)?.unpack(voice, PACKAGE, &exact, &source)?;
    ensure!(
        library.join("core").is_dir(),
        "{PACKAGE} {exact} has no {}",
        library.display()
    );
    Ok(library)
}

/// The first suite that has the package in exactly `rustc`'s version, and Debian's name of that; `versions` tells
/// what a suite has.
fn search(
    rustc: &str,
    versions: &mut dyn FnMut(&str) -> Result<Vec<String>>,
) -> Result<(&'static str, String)> {
    let mut others = Vec::new();
    for suite in SUITES {
        others.push(match versions(suite) {
            Ok(versions) => match exact(&versions, rustc) {
                Some(exact) => return Ok((suite, exact.to_owned())),
                None => {
                    let newest = versions.first().map_or("none", String::as_str);
                    format!("{suite} has {newest}")
                }
            },
            Err(error) => format!("{suite}: {error:#}"),
        });
    }
    bail!(
        "no suite of Debian has {PACKAGE} {rustc}, the version of your rustc: {}",
        others.join(", ")
    )
}

/// The first Debian version that is exactly `rustc`'s: another one would not compile, or would give other bytes.
fn exact<'v>(versions: &'v [String], rustc: &str) -> Option<&'v str> {
    versions
        .iter()
        .map(String::as_str)
        .find(|version| upstream(version) == rustc)
}

/// `1.95.0+dfsg1-2~bpo13+1` is version 1.95.0; `1.96.0~beta.1-1` is none that is released, and stays whole.
fn upstream(debian_version: &str) -> &str {
    let end = debian_version.find(|c: char| !c.is_ascii_digit() && c != '.');
    match end.map(|end| debian_version.split_at(end)) {
        Some((version, rest)) if !rest.starts_with('~') => version,
        _ => debian_version,
    }
}

/// Compiles the core library, seen at any of `paths`; the folder with the results.
fn compile(voice: Voice, paths: &[&Path], version: &str) -> Result<PathBuf> {
    let probe = output_dir().join("setup/core-for-board");
    fs::create_dir_all(probe.join("src"))?;
    fs::write(
        probe.join("Cargo.toml"),
        "[package]\nname = \"core-for-board\"\nedition = \"2024\"\n[workspace]\n",
    )?;
    fs::write(probe.join("src/lib.rs"), "#![no_std]\n")?;
    // bitcode: the release profile links with LTO. The prefixes: the same bytes wherever this is built.
    let mut flags = "-Cembed-bitcode=yes".to_owned();
    for path in paths.iter().map(|path| path.display()) {
        flags += &format!(" --remap-path-prefix={path}=/rustc/{version}/library");
    }
    voice.run(
        "Compiling Rust's core library for the board (half a minute)",
        cargo()
            .current_dir(&probe)
            .env("RUSTFLAGS", flags)
            // the one step that stable Rust has no flag for
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_DIR", probe.join("target"))
            .args(["build", "--release", "--target", TARGET])
            .arg("-Zbuild-std=core,alloc,compiler_builtins"),
    )?;
    Ok(probe.join("target").join(TARGET).join("release/deps"))
}

/// The source, for as long as cargo looks for it in rustc's folder.
struct SourceLink {
    path: PathBuf,
    is_ours: bool,
}

impl SourceLink {
    fn put(sysroot: &Path, library: &Path) -> Result<SourceLink> {
        let dir = sysroot.join("lib/rustlib/src/rust");
        let path = dir.join("library");
        // rustup's component `rust-src` is the toolchain's own; a link is one that a run before has left
        let is_ours = path.is_symlink() || !path.join("core").is_dir();
        if is_ours {
            fs::create_dir_all(&dir)?;
            if path.is_symlink() {
                fs::remove_file(&path)?;
            }
            symlink(library, &path).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(SourceLink { path, is_ours })
    }
}

impl Drop for SourceLink {
    fn drop(&mut self) {
        if self.is_ours {
            // a link left behind is replaced next time
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_versions_lead_with_the_upstream_one() {
        assert_eq!(upstream("1.95.0+dfsg1-2~bpo13+1"), "1.95.0");
        assert_eq!(upstream("1.97.1+dfsg1-1~bpo13+1"), "1.97.1");
        assert_eq!(upstream("1.95.0"), "1.95.0");
    }

    #[test]
    fn suites_are_searched_in_their_order_and_named_where_they_fail() {
        let mut asked = Vec::new();
        let found = search("1.97.1", &mut |suite| {
            asked.push(suite.to_owned());
            match suite {
                "trixie-backports" => anyhow::bail!("not found"),
                "forky-backports" => Ok(vec!["1.96.0-1".to_owned()]),
                _ => Ok(vec!["1.97.1+dfsg1-1".to_owned()]),
            }
        });
        assert_eq!(found.unwrap(), ("testing", "1.97.1+dfsg1-1".to_owned()));
        assert_eq!(asked, ["trixie-backports", "forky-backports", "testing"]);
        let none = search("1.95.0", &mut |suite| match suite {
            "testing" => Ok(Vec::new()),
            _ => Ok(vec!["1.97.1+dfsg1-1".to_owned()]),
        });
        let error = none.unwrap_err().to_string();
        assert!(
            error.contains("testing has none, unstable has 1.97.1+dfsg1-1"),
            "{error}"
        );
    }

    #[test]
    fn only_the_very_version_of_rustc_is_taken() {
        let offered = |versions: &[&str]| -> Vec<String> {
            versions.iter().map(|&version| version.to_owned()).collect()
        };
        let different = offered(&["1.97.1+dfsg1-1~bpo13+1", "1.95.1-1", "1.95.0~beta.2-1"]);
        assert_eq!(exact(&different, "1.95.0"), None);
        assert_eq!(exact(&[], "1.95.0"), None);
        let equal = offered(&["1.97.1+dfsg1-1", "1.95.0+dfsg1-2~bpo13+1"]);
        assert_eq!(exact(&equal, "1.95.0"), Some("1.95.0+dfsg1-2~bpo13+1"));
    }
}
