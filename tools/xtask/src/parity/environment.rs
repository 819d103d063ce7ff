//! The oracle's Python: a virtual environment of pinned packages, and its script in it.

use crate::voice::Voice;
use crate::workspace::{output_dir, read_text, root};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Script and package list, below the root.
pub const ORACLE: &str = "tools/pilm/oracle";

/// A Python that has exactly the listed packages.
pub struct Environment {
    python: PathBuf,
    packages: String,
}

impl Environment {
    /// Makes the environment, unless it is there with the same list.
    ///
    /// # Errors
    /// Python, its `venv`, or a package is missing.
    pub fn ensure(voice: Voice) -> Result<Environment> {
        let dir = output_dir().join("oracle-environment");
        let wanted = root().join(ORACLE).join("requirements.txt");
        let installed = dir.join("installed.txt");
        let environment = Environment {
            python: dir.join("bin/python3"),
            packages: read_text(&wanted)?,
        };
        if fs::read_to_string(&installed).is_ok_and(|list| list == environment.packages) {
            return Ok(environment);
        }
        let given = "with --oracle DIR results that exist already are used";
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(&dir);
        voice
            .run("Making a virtual environment for Python", &mut create)
            .context("python3 with its venv module is needed (Debian: python3-venv)")
            .context(given)?;
        let mut install = Command::new(&environment.python);
        install
            .args(["-m", "pip", "install", "--disable-pip-version-check", "-r"])
            .arg(&wanted);
        voice
            .run(
                "Installing torch and transformers: up to 6 GB, because torch brings CUDA on x86 Linux",
                &mut install,
            )
            .context(given)?;
        fs::write(&installed, &environment.packages)?;
        Ok(environment)
    }

    /// The script with `args`.
    pub fn script(&self, args: &[&Path]) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(root().join(ORACLE).join("make.py")).args(args);
        command
    }

    /// The listed packages with their versions, for a sentence.
    pub fn versions(&self) -> String {
        let packages = self.packages.lines().filter(|line| !line.starts_with('#'));
        packages
            .map(|line| line.replacen("==", " ", 1))
            .collect::<Vec<_>>()
            .join(", ")
    }
}
