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
    Chat(commands::chat::Args),
    CheckFixtures(commands::check_fixtures::Args),
    CheckOracle(commands::check_oracle::Args),
    Compare(commands::compare::Args),
    Convert(commands::convert::Args),
    Generate(commands::generate::Args),
    Inspect(commands::inspect::Args),
    Logits(commands::logits::Args),
    Ports(commands::ports::Args),
    Ppl(commands::ppl::Args),
    Predict(commands::predict::Args),
    Quantize(commands::quantize::Args),
    Synth(commands::synth::Args),
    Talk(commands::talk::Args),
    Tokenize(commands::tokenize::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Chat(args) => commands::chat::run(&args),
        Command::CheckFixtures(args) => commands::check_fixtures::run(&args),
        Command::CheckOracle(args) => commands::check_oracle::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Generate(args) => commands::generate::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Logits(args) => commands::logits::run(&args),
        Command::Ports(args) => commands::ports::run(&args),
        Command::Ppl(args) => commands::ppl::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Quantize(args) => commands::quantize::run(&args),
        Command::Synth(args) => commands::synth::run(&args),
        Command::Talk(args) => commands::talk::run(&args),
        Command::Tokenize(args) => commands::tokenize::run(&args),
    };
    stdout::exit_code("pilm", result)
}
