//! `pilm predict [--write]`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use pilm::predict;

/// Say what a board will show, from figures that others published of it.
#[derive(clap::Args)]
pub struct Args {
    /// Published figures; docs/figures/public-pi4.csv of the project without it.
    #[arg(long)]
    public: Option<PathBuf>,
    /// Write docs/predictions.csv and docs/predictions.md instead of printing the page.
    #[arg(long)]
    write: bool,
    /// Root of the project.
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let public = args.public.clone();
    let public = public.unwrap_or_else(|| args.root.join("docs/figures/public-pi4.csv"));
    let name = public.display().to_string();
    let public = fs::read_to_string(&public).with_context(|| format!("reading {name}"))?;
    let (csv, page) = predict::files(&public).with_context(|| name.clone())?;
    if !args.write {
        stdout::text!("{page}")?;
        return Ok(());
    }
    for (file, text) in [("docs/predictions.csv", csv), ("docs/predictions.md", page)] {
        let path = args.root.join(file);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        stdout::line!("{}", path.display())?;
    }
    Ok(())
}
