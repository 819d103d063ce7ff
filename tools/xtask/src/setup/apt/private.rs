//! An apt that changes nothing of the machine's.

use super::Debian;
use crate::voice::Voice;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An apt of our own: its lists and downloads lie in a folder, and nothing of the machine's changes.
#[derive(Debug)]
pub(crate) struct PrivateApt {
    dir: PathBuf,
    /// Options beside the folders.
    options: Vec<&'static str>,
}

impl PrivateApt {
    /// Reads the list of `suite` into `dir`. Needs no root.
    pub(crate) fn new(
        voice: Voice,
        debian: &Debian,
        suite: &str,
        dir: &Path,
    ) -> Result<PrivateApt> {
        PrivateApt::with(voice, suite, debian.entry(suite)?, dir, Vec::new())
    }

    /// The same for packages of the board's architecture, its non-free firmware included.
    pub(crate) fn for_board(
        voice: Voice,
        debian: &Debian,
        suite: &str,
        dir: &Path,
    ) -> Result<PrivateApt> {
        let entry = debian
            .entry(suite)?
            .replace("Components: main", "Components: main non-free-firmware");
        let options = vec!["APT::Architecture=arm64", "APT::Architectures=arm64"];
        PrivateApt::with(voice, suite, entry, dir, options)
    }

    fn with(
        voice: Voice,
        suite: &str,
        entry: String,
        dir: &Path,
        options: Vec<&'static str>,
    ) -> Result<PrivateApt> {
        for part in ["lists/partial", "archives/partial", "sources"] {
            fs::create_dir_all(dir.join(part))?;
        }
        fs::write(dir.join("sources/pilm.sources"), entry)?;
        let apt = PrivateApt {
            dir: dir.to_owned(),
            options,
        };
        voice.run(
            &format!("Reading the package list of {suite}"),
            apt.command("apt-get").arg("update"),
        )?;
        Ok(apt)
    }

    /// Versions of `package` on offer, newest first.
    pub(crate) fn versions(&self, package: &str) -> Result<Vec<String>> {
        let output = self
            .command("apt-cache")
            .args(["madison", package])
            .output()?;
        Ok(madison_versions(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Packages that the newest `package` depends on.
    pub(crate) fn depends(&self, package: &str) -> Result<Vec<String>> {
        let output = self
            .command("apt-cache")
            .args(["depends", "--important", package])
            .env("LC_ALL", "C")
            .output()?;
        Ok(depends_names(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Downloads `package` and unpacks it, without installing, into `into`.
    pub(crate) fn unpack(
        &self,
        voice: Voice,
        package: &str,
        version: &str,
        into: &Path,
    ) -> Result<()> {
        let downloads = self.dir.join("downloads");
        if downloads.exists() {
            fs::remove_dir_all(&downloads)?;
        }
        fs::create_dir_all(&downloads)?;
        voice.run(
            &format!("Downloading {package} {version}"),
            self.command("apt-get")
                .current_dir(&downloads)
                .args(["download", &format!("{package}={version}")]),
        )?;
        let deb = fs::read_dir(&downloads)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|e| e == "deb"))
            .with_context(|| format!("apt-get downloaded no package for {package}"))?;
        fs::create_dir_all(into)?;
        voice.run(
            &format!("Unpacking {package}"),
            Command::new("dpkg-deb").arg("-x").arg(deb).arg(into),
        )
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let option = |name: &str, path: PathBuf| format!("{name}={}", path.display());
        for option in [
            "Dir::Etc::sourcelist=/dev/null".to_owned(),
            option("Dir::Etc::sourceparts", self.dir.join("sources")),
            option("Dir::State::lists", self.dir.join("lists")),
            option("Dir::Cache", self.dir.clone()),
            option("Dir::Cache::archives", self.dir.join("archives")),
            // root's apt would change to a user that may not write here
            "APT::Sandbox::User=root".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        for option in &self.options {
            command.arg("-o").arg(option);
        }
        command
    }
}

fn madison_versions(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.split('|').nth(1))
        .map(|version| version.trim().to_owned())
        .collect()
}

fn depends_names(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read() {
        let text = "linux-image-arm64\n  Depends: linux-image-6.12-arm64\n";
        assert_eq!(depends_names(text), ["linux-image-6.12-arm64"]);
    }

    #[test]
    fn versions_are_read() {
        let madison = "  rust-src | 1.95.0+dfsg1-2~bpo13+1 | mirror:/a trixie-backports/main amd64 Packages\n";
        assert_eq!(madison_versions(madison), ["1.95.0+dfsg1-2~bpo13+1"]);
    }
}
