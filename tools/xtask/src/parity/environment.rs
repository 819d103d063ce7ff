//! Virtual environments of pinned Python packages; the oracle's, and its script in it.

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
    /// The oracle's.
    ///
    /// # Errors
    /// As [`Environment::make`].
    pub fn ensure(voice: Voice) -> Result<Environment> {
        let install =
            "Installing torch and transformers: up to 6 GB, because torch brings CUDA on x86 Linux";
        Self::make(voice, "oracle-environment", ORACLE, install)
            .context("with --oracle DIR results that exist already are used")
    }

    /// Makes the environment `name` with the packages of `requirements.txt` in `folder`, unless it is there with the
    /// same list; `install` is what is said meanwhile.
    ///
    /// # Errors
    /// Python, its `venv`, or a package is missing.
    pub fn make(voice: Voice, name: &str, folder: &str, install: &str) -> Result<Environment> {
        let dir = output_dir().join(name);
        let wanted = root().join(folder).join("requirements.txt");
        let installed = dir.join("installed.txt");
        let environment = Environment {
            python: dir.join("bin/python3"),
            packages: read_text(&wanted)?,
        };
        if fs::read_to_string(&installed).is_ok_and(|list| list == environment.packages) {
            return Ok(environment);
        }
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(&dir);
        voice
            .run("Making a virtual environment for Python", &mut create)
            .context("python3 with its venv module is needed (Debian: python3-venv)")?;
        let mut pip = Command::new(&environment.python);
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "-r"])
            .arg(&wanted);
        voice.run(install, &mut pip)?;
        fs::write(&installed, &environment.packages)?;
        Ok(environment)
    }

    /// The interpreter.
    pub fn python(&self) -> Command {
        Command::new(&self.python)
    }

    /// The script with `args`.
    pub fn script(&self, args: &[&Path]) -> Command {
        let mut command = self.python();
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
