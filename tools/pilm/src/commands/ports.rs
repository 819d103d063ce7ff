//! `pilm ports`: the serial ports of this machine.

use anyhow::{Context, Result};
use link::serial::Serial;

/// List the serial ports
#[derive(clap::Args)]
pub struct Args {}

/// Runs the subcommand.
pub fn run(_: &Args) -> Result<()> {
    let mut ports = Serial::ports().context("the system does not list its ports")?;
    ports.sort();
    for port in ports {
        stdout::line!("{}", port.display())?;
    }
    Ok(())
}
