//! `cargo xtask image`: a card with the firmware's files and models.

use crate::card::{self, CardFile};
use crate::digest::crc32c;
use crate::firmware::{self, Firmware};
use crate::setup::{board_files, model};
use crate::voice::Voice;
use crate::workspace::{output_dir, read_text, root};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// The kernel's name on a card of its own.
const KERNEL: &str = "kernel8.img";
/// Its name beside another kernel.
const GUEST_KERNEL: &str = "pilm8.img";

/// What goes on the card, and how large it is.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Model to put on the card (GGUF); repeat for several [default: SmolLM2-135M-Instruct, Q8_0]
    #[arg(long = "model", value_name = "FILE")]
    models: Vec<PathBuf>,
    /// Put no model on the card.
    #[arg(long, conflicts_with = "models")]
    no_model: bool,
    /// Folder with the Raspberry Pi's own firmware [default: the packages raspi-firmware and linux-image of Debian]
    #[arg(long, value_name = "DIR")]
    board_files: Option<PathBuf>,
    /// Leave the Raspberry Pi's own firmware out: enough for QEMU, not for a board.
    #[arg(long, conflicts_with = "board_files")]
    no_board_files: bool,
    /// Size of the card: a power of two such as 64M, 512M, 4G [default: the smallest that fits]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    sd_size: Option<u64>,
    /// Where the image goes [default: target/pilm/sd.img]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Builds the kernel and writes the card.
///
/// # Errors
/// The kernel does not build, a file is missing, or the card cannot be written.
pub fn image(options: &Options) -> Result<()> {
    let voice = Voice::new(false);
    check_first(&options.models, options.sd_size)?;
    let board = match (&options.board_files, options.no_board_files) {
        (Some(dir), _) => {
            let files = board_files::in_folder(dir)?;
            board_files::warn_of_age(voice, dir)?;
            files
        }
        (None, true) => Vec::new(),
        (None, false) => board_files::ensure(voice)?,
    };
    let models = match &options.models[..] {
        [] if !options.no_model => vec![model::ensure(voice)?],
        models => models.to_vec(),
    };
    let firmware = firmware::build(voice)?;
    let files = all_files(board, &firmware, &models)?;
    let out = options
        .out
        .clone()
        .unwrap_or_else(|| output_dir().join("sd.img"));
    let size = write_card(voice, &files, options.sd_size, &out)?;
    for file in &files {
        stdout::line!("{:>12} {}", file.len_bytes()?, file.name)?;
    }
    stdout::line!("{}: a card of {} MiB", out.display(), size >> 20)?;
    if options.no_board_files {
        voice
            .say("It boots in QEMU; a board needs the Raspberry Pi's firmware files beside these.");
    } else {
        voice.say("docs/flash.md says how it gets onto a card.");
    }
    Ok(())
}

/// What can be known before anything is installed or built: that `models` are files with names that FAT can
/// hold, and have room on a card of `sd_size` bytes.
///
/// # Errors
/// One cannot be read, is no file, or has no usable name; the size is not possible or too small.
pub fn check_first(models: &[PathBuf], sd_size: Option<u64>) -> Result<()> {
    let mut files = Vec::new();
    for model in models {
        let file = CardFile::path(file_name(model)?, model);
        file.len_bytes()?;
        files.push(file);
    }
    match sd_size {
        Some(size) => card::check_size(size, &files),
        None => Ok(()),
    }
}

/// The name of a file as text: what a model is called on the card.
///
/// # Errors
/// It has none, or none that FAT can hold.
pub fn file_name(path: &Path) -> Result<&str> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.with_context(|| format!("{} has no usable file name", path.display()))
}

/// Everything on the card: what the board starts from, what this project makes, the models.
fn all_files(
    board: Vec<CardFile>,
    firmware: &Firmware,
    models: &[PathBuf],
) -> Result<Vec<CardFile>> {
    let mut files = board;
    files.extend(firmware_files(firmware));
    for model in models {
        files.extend(model_files(model)?);
    }
    Ok(files)
}

/// The files that this project makes: kernel, settings of the board and of PiLM.
pub fn firmware_files(firmware: &Firmware) -> Vec<CardFile> {
    vec![
        CardFile::bytes(KERNEL, firmware.image.bytes.clone()),
        CardFile::path("config.txt", root().join("boot/config.txt")),
        CardFile::path("pilm.txt", root().join("boot/pilm.txt")),
    ]
}

/// The same under names that no card with an operating system has: one line in its `config.txt` includes the
/// settings of the board, which name the kernel.
///
/// # Errors
/// `boot/config.txt` cannot be read.
pub fn guest_files(firmware: &Firmware) -> Result<Vec<CardFile>> {
    let config = read_text(&root().join("boot/config.txt"))?;
    let line = format!("kernel={KERNEL}\n");
    ensure!(
        config.matches(&line).count() == 1,
        "boot/config.txt does not name {KERNEL} once"
    );
    let config = config.replace(&line, &format!("kernel={GUEST_KERNEL}\n"));
    Ok(vec![
        CardFile::bytes(GUEST_KERNEL, firmware.image.bytes.clone()),
        CardFile::bytes("pilm-config.txt", config),
        CardFile::path("pilm.txt", root().join("boot/pilm.txt")),
    ])
}

/// A model and its checksum, which the firmware verifies while it loads.
///
/// # Errors
/// The model cannot be read, or has a name that FAT cannot hold.
pub fn model_files(model: &Path) -> Result<[CardFile; 2]> {
    let name = file_name(model)?;
    let checksum = format!("{:08x}  {name}\n", crc32c(model)?);
    Ok([
        CardFile::path(name, model),
        CardFile::bytes(&format!("{name}.crc32c"), checksum),
    ])
}

/// Writes a card with `files` to `out`; the card's size in bytes.
///
/// # Errors
/// A file cannot be read, the files do not fit in `sd_size`, or `out` cannot be written.
pub fn write_card(
    voice: Voice,
    files: &[CardFile],
    sd_size: Option<u64>,
    out: &Path,
) -> Result<u64> {
    let size = sd_size.map_or_else(|| card::fitting_size(files), Ok)?;
    let bar = voice.bytes("Writing the card", card::total_bytes(files)?);
    card::write(out, size, files, &mut |n_bytes| bar.inc(n_bytes))?;
    bar.finish_and_clear();
    Ok(size)
}

/// Reads a size such as `64M` or `4G`, in bytes.
///
/// # Errors
/// Not a number, or an unknown unit.
pub fn parse_size(text: &str) -> Result<u64> {
    let (digits, unit) = match text.trim_end_matches(['B', 'b', 'i']) {
        text if text.ends_with(['M', 'm']) => (&text[..text.len() - 1], 20),
        text if text.ends_with(['G', 'g']) => (&text[..text.len() - 1], 30),
        text => (text, 0),
    };
    let number: u64 = digits
        .parse()
        .with_context(|| format!("{text:?} is not a size such as 64M or 4G"))?;
    let bytes = number.checked_mul(1 << unit);
    bytes.with_context(|| format!("{text} is too large"))
}

#[cfg(test)]
mod tests;
