//! The kernel, built for the board.

use crate::raw_image::{RawImage, flatten};
use crate::setup::target;
use crate::symbols;
use crate::voice::Voice;
use crate::workspace::{TARGET, cargo, output_dir, printed, root, target_dir};
use anyhow::{Context, Result};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A built kernel.
#[derive(Debug)]
pub struct Firmware {
    /// The linked ELF, with symbols.
    pub elf: PathBuf,
    /// `kernel8.img`, ready for a card or for QEMU's `-kernel`.
    pub image_path: PathBuf,
    /// Contents and sizes of the image.
    pub image: RawImage,
    /// The commit in its version string.
    pub commit: Option<String>,
}

/// Builds the release kernel and flattens it.
///
/// # Errors
/// Cargo fails, or the ELF is not an image for the board.
pub fn build(voice: Voice) -> Result<Firmware> {
    build_binary(voice, "kernel", "kernel")
}

/// Builds the release binary `binary` of `package` for the board and flattens it to `<binary>8.img`.
///
/// # Errors
/// Cargo fails, or the ELF is not an image for the board.
pub fn build_binary(voice: Voice, package: &str, binary: &str) -> Result<Firmware> {
    let commit = commit();
    let elf = build_elf(voice, package, binary, commit.as_deref())?;
    let elf_bytes = fs::read(&elf).with_context(|| format!("reading {}", elf.display()))?;
    let image = flat(&elf_bytes).with_context(|| format!("flattening {}", elf.display()))?;
    let image_path = output_dir().join(format!("{binary}8.img"));
    fs::create_dir_all(output_dir())?;
    fs::write(&image_path, &image.bytes)
        .with_context(|| format!("writing {}", image_path.display()))?;
    Ok(Firmware {
        elf,
        image_path,
        image,
        commit,
    })
}

/// Builds the release binary `binary` of `package` for the board's processor; the ELF.
///
/// # Errors
/// Cargo fails.
pub fn build_elf(
    voice: Voice,
    package: &str,
    binary: &str,
    commit: Option<&str>,
) -> Result<PathBuf> {
    target::ensure(voice)?;
    let what = format!("Building {binary} for the board");
    build_elf_in(
        &root(),
        &target_dir(),
        voice,
        &what,
        [package, binary],
        commit,
    )
}

/// The same of the workspace in `folder`, into `target_dir`; `what` is said.
pub(crate) fn build_elf_in(
    folder: &Path,
    target_dir: &Path,
    voice: Voice,
    what: &str,
    [package, binary]: [&str; 2],
    commit: Option<&str>,
) -> Result<PathBuf> {
    let mut build = cargo();
    build
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target_dir);
    build.args(["build", "--release", "--target", TARGET]);
    build.args(["--package", package, "--bin", binary]);
    build.args(anywhere_the_same(folder));
    if let Some(commit) = commit {
        build.env("PILM_COMMIT", commit);
    }
    voice.run(what, &mut build)?;
    Ok(target_dir.join(TARGET).join("release").join(binary))
}

/// Flags that keep the folders of this machine out of the image: the same source gives the same bytes everywhere.
fn anywhere_the_same(root: &Path) -> [String; 2] {
    let mut prefixes = vec![format!("--remap-path-prefix={}=/pilm", root.display())];
    if let Some(home) = cargo_home() {
        prefixes.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    // joined to the flags of .cargo/config.toml, which RUSTFLAGS would replace
    [
        "--config".to_owned(),
        format!("target.{TARGET}.rustflags={prefixes:?}"),
    ]
}

fn cargo_home() -> Option<PathBuf> {
    match env::var_os("CARGO_HOME") {
        Some(home) => Some(home.into()),
        None => Some(Path::new(&env::var_os("HOME")?).join(".cargo")),
    }
}

/// The flat image of a linked kernel, with the names of its functions.
pub(crate) fn flat(elf_bytes: &[u8]) -> Result<RawImage> {
    let mut image = flatten(elf_bytes)?;
    image.symbols_bytes = symbols::fill(&mut image, elf_bytes)?;
    Ok(image)
}

/// The commit that is built, with a `+` when files differ from it; none outside of a clone.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        printed(git.args(arguments).current_dir(root())).ok()
    };
    let mut commit = git(&["rev-parse", "--short=10", "HEAD"])?.trim().to_owned();
    if !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
        commit.push('+');
    }
    Some(commit)
}
