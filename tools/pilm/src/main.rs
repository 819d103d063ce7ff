//! `pilm`: what the firmware does, on the host.

#![forbid(unsafe_code)]

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(version, about = "Inspect, make and run the model files of PiLM")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Convert(commands::convert::Args),
    Inspect(commands::inspect::Args),
    Quantize(commands::quantize::Args),
    Tokenize(commands::tokenize::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Convert(args) => commands::convert::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Quantize(args) => commands::quantize::run(&args),
        Command::Tokenize(args) => commands::tokenize::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("pilm: {e:#}");
            ExitCode::FAILURE
        }
    }
}
