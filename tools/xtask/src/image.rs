//! `cargo xtask image`: a card with the firmware's files and a model.

use crate::card::{self, CardFile};
use crate::firmware::{self, Firmware};
use crate::voice::Voice;
use crate::workspace::{output_dir, root};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// What goes on the card, and how large it is.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Model to put on the card (GGUF); repeat for several.
    #[arg(long = "model", value_name = "FILE")]
    models: Vec<PathBuf>,
    /// Size of the card: a power of two such as 64M, 512M, 4G [default: the smallest that fits]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    sd_size: Option<u64>,
    /// Where the image goes.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Builds the kernel and writes the card.
///
/// # Errors
/// The kernel does not build, or the card cannot be written.
pub fn image(options: &Options) -> Result<()> {
    let voice = Voice::new(false);
    let firmware = firmware::build(voice)?;
    let out = options
        .out
        .clone()
        .unwrap_or_else(|| output_dir().join("sd.img"));
    let size = write_card(voice, &firmware, &options.models, options.sd_size, &out)?;
    voice.say(format!("{}: a card of {} MiB", out.display(), size >> 20));
    Ok(())
}

/// Writes a card with the firmware and `models` to `out`; the card's size in bytes.
///
/// # Errors
/// A model cannot be read, the files do not fit in `sd_size`, or `out` cannot be written.
pub fn write_card(
    voice: Voice,
    firmware: &Firmware,
    models: &[PathBuf],
    sd_size: Option<u64>,
    out: &Path,
) -> Result<u64> {
    let mut files = vec![
        CardFile::bytes("kernel8.img", firmware.image.bytes.clone()),
        CardFile::path("config.txt", root().join("boot/config.txt")),
    ];
    for model in models {
        let name = model
            .file_name()
            .and_then(|name| name.to_str())
            .with_context(|| format!("{} has no usable file name", model.display()))?;
        files.push(CardFile::path(name, model));
    }
    let size = match sd_size {
        Some(size) => size,
        None => card::fitting_size(&files)?,
    };
    let bar = voice.bytes("Writing the card", card::total_bytes(&files)?);
    card::write(out, size, &files, &mut |copied| bar.set_position(copied))?;
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
    match number.checked_mul(1 << unit) {
        Some(bytes) => Ok(bytes),
        None => bail!("{text} is too large"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_bytes_mib_and_gib() {
        assert_eq!(parse_size("64M").unwrap(), 64 << 20);
        assert_eq!(parse_size("4GiB").unwrap(), 4 << 30);
        assert_eq!(parse_size("67108864").unwrap(), 64 << 20);
        assert!(parse_size("big").is_err());
        assert!(parse_size("99999999999G").is_err());
    }

    #[test]
    fn every_setting_of_config_txt_has_its_reason_above_it() {
        let text = std::fs::read_to_string(root().join("boot/config.txt")).unwrap();
        let mut previous = "";
        for line in text.lines() {
            if line.contains('=') && !line.starts_with('#') {
                assert!(previous.starts_with("# "), "no reason above {line}");
                // the board's firmware cuts long lines
                assert!(line.len() < 98);
            }
            previous = line;
        }
        assert!(text.contains("\nkernel_address=0x80000\n"));
    }
}
