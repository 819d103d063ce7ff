//! The kernel, built for the board.

use crate::raw_image::{RawImage, flatten};
use crate::setup::target;
use crate::voice::Voice;
use crate::workspace::{TARGET, cargo, output_dir, target_dir};
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

/// A built kernel.
#[derive(Debug)]
pub struct Firmware {
    /// The linked ELF, with symbols.
    pub elf: PathBuf,
    /// `kernel8.img`, ready for a card or for QEMU's `-kernel`.
    pub image_path: PathBuf,
    /// Contents and sizes of the image.
    pub image: RawImage,
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
    target::ensure(voice)?;
    let mut build = cargo();
    build.args(["build", "--release", "--target", TARGET]);
    build.args(["--package", package, "--bin", binary]);
    voice.run(&format!("Building {binary} for the board"), &mut build)?;

    let elf = target_dir().join(TARGET).join("release").join(binary);
    let elf_bytes = fs::read(&elf).with_context(|| format!("reading {}", elf.display()))?;
    let image = flatten(&elf_bytes).with_context(|| format!("flattening {}", elf.display()))?;
    let image_path = output_dir().join(format!("{binary}8.img"));
    fs::create_dir_all(output_dir())?;
    fs::write(&image_path, &image.bytes)
        .with_context(|| format!("writing {}", image_path.display()))?;
    Ok(Firmware {
        elf,
        image_path,
        image,
    })
}
