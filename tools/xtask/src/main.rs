//! `cargo xtask`: set-up, run, test, image, ci.

#![forbid(unsafe_code)]

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;
use xtask::{
    audit, ci, count, dist, first_questions, image, mca, pages, parity, python, release_manifest,
    run, setup, test,
};

/// Builds, boots and checks PiLM.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what a fresh machine lacks: the Rust target, QEMU, the default model.
    Setup,
    /// Write an SD-card image: firmware, settings, models.
    Image(image::Options),
    /// Write the files for a Raspberry Pi OS card: pilm8.img, pilm-config.txt, pilm.txt, checksums.
    Dist(dist::Options),
    /// Print the manifest of a released image, as Raspberry Pi Imager reads it.
    Manifest(release_manifest::Options),
    /// Boot the firmware in QEMU and ask it something.
    Run(run::Options),
    /// Ask the default model what people ask first, as it is set for a person; no answer may repeat itself.
    FirstQuestions(first_questions::Options),
    /// Run the tests: on the host, and in QEMU.
    Test,
    /// Count the instructions of a prompt token and of a decoded token, in QEMU.
    Count(count::Options),
    /// Print the cycles of the image's hot loops, by LLVM's model of the Cortex-A72.
    Mca(mca::Options),
    /// Render docs/speed.md and docs/parity.md from docs/figures.
    Figures,
    /// Hold `unsafe` and circles between files against ARCHITECTURE.md's lists; list the kernel's packages and show
    /// that no C and no BLAS is in it, and no instruction that the board's cores lack or cannot run yet.
    Audit,
    /// Compare the engine with transformers; write docs/figures/parity.json and docs/parity.md.
    Parity(parity::Options),
    /// Test the client in tools/python against QEMU, in a virtual environment with pyserial.
    Python,
    /// Run everything that must hold for a change to land.
    Ci(ci::Options),
}

fn main() -> ExitCode {
    stdout::exit_code("error", dispatch(Cli::parse().command))
}

fn dispatch(command: Command) -> Result<()> {
    match command {
        Command::Setup => setup::setup(),
        Command::Image(options) => image::image(&options),
        Command::Dist(options) => dist::dist(&options),
        Command::Manifest(options) => release_manifest::manifest(&options),
        Command::Run(options) => run::run(&options),
        Command::FirstQuestions(options) => first_questions::ask(&options),
        Command::Test => test::test(),
        Command::Count(options) => rendered(options.write, count::count(&options)),
        Command::Mca(options) => rendered(options.write, mca::mca(&options)),
        Command::Figures => pages::render(),
        Command::Audit => audit::audit(),
        Command::Parity(options) => rendered(true, parity::parity(&options)),
        Command::Python => python::test(),
        Command::Ci(options) => ci::ci(&options),
    }
}

/// What a counting command ended with, once the pages show the figures that it has written.
fn rendered(has_written: bool, result: Result<()>) -> Result<()> {
    if has_written {
        pages::render()?;
    }
    result
}
