//! `pilm predict [--write]`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use pilm::predict;

/// Say what a board will show, from figures that others published of it.
#[derive(clap::Args)]
pub struct Args {
    /// Published figures.
    #[arg(long, default_value = "docs/figures/public-pi4.csv")]
    public: PathBuf,
    /// Write predictions.csv and predictions.md to --docs instead of printing the page.
    #[arg(long)]
    write: bool,
    /// Folder to write to.
    #[arg(long, default_value = "docs")]
    docs: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let name = args.public.display();
    let public = fs::read_to_string(&args.public).with_context(|| format!("reading {name}"))?;
    let (csv, page) = predict::files(&public).with_context(|| name.to_string())?;
    if !args.write {
        stdout::text!("{page}")?;
        return Ok(());
    }
    for (file, text) in [("predictions.csv", csv), ("predictions.md", page)] {
        let path = args.docs.join(file);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        stdout::line!("{}", path.display())?;
    }
    Ok(())
}
