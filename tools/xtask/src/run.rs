//! `cargo xtask run`: boot in QEMU, ask, answer.

use crate::voice::Voice;
use crate::workspace::output_dir;
use crate::{firmware, image};
use anyhow::Result;
use qemu::Machine;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

/// What to boot and what to ask.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Model to put on the card (GGUF).
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Size of the card: a power of two such as 64M or 4G [default: the smallest that fits]
    #[arg(long, value_name = "SIZE", value_parser = image::parse_size)]
    sd_size: Option<u64>,
    /// Cores that compute, 1 to 4.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    cores: Option<u8>,
}

/// Boots the firmware and shows what it says.
///
/// # Errors
/// The firmware or the card cannot be made, or QEMU fails.
pub fn run(options: &Options) -> Result<()> {
    let voice = Voice::new(false);
    let firmware = firmware::build(voice)?;
    let card = output_dir().join("run.img");
    image::write_card(
        voice,
        &firmware,
        options.model.as_slice(),
        options.sd_size,
        &card,
    )?;
    let mut machine = Machine::new(&firmware.image_path).card(&card);
    if let Some(cores) = options.cores {
        machine = machine.append(&format!("cores={cores}"));
    }
    let mut pi = machine.boot()?;
    loop {
        let bytes = pi.read(Duration::from_secs(1))?;
        io::stdout().write_all(&bytes)?;
        io::stdout().flush()?;
    }
}
