//! An apt that changes nothing of the machine's.

use super::Debian;
use crate::voice::Voice;
use crate::workspace::{files_below, printed};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which packages of a suite are seen.
pub(crate) struct Selection {
    components: &'static str,
    /// Lines of apt's configuration.
    options: &'static str,
}

impl Selection {
    /// Those for this machine.
    pub(crate) const HOST: Selection = Selection {
        components: "main",
        options: "",
    };
    /// Those of the board's architecture, its non-free firmware included.
    pub(crate) const BOARD: Selection = Selection {
        components: "main non-free-firmware",
        options: "APT { Architecture \"arm64\"; Architectures \"arm64\"; };\n",
    };
}

/// An apt of our own: its lists and downloads lie in a folder, and nothing of the machine's changes.
#[derive(Debug)]
pub(crate) struct PrivateApt {
    dir: PathBuf,
}

impl PrivateApt {
    /// Reads the list of `suite` into `dir`. Needs no root.
    pub(crate) fn new(
        voice: Voice,
        debian: &Debian,
        suite: &str,
        dir: PathBuf,
        Selection {
            components,
            options,
        }: Selection,
    ) -> Result<PrivateApt> {
        for part in ["lists/partial", "archives/partial", "sources"] {
            fs::create_dir_all(dir.join(part))?;
        }
        let entry = debian.entry(suite, components)?;
        fs::write(dir.join("sources/pilm.sources"), entry)?;
        let path = dir.display();
        // root's apt would change to a user that may not write here
        let settings = format!(
            "Dir::Etc {{ sourcelist \"/dev/null\"; sourceparts \"{path}/sources\"; }};\n\
             Dir::State::lists \"{path}/lists\";\n\
             Dir::Cache \"{path}\";\nDir::Cache::archives \"{path}/archives\";\n\
             APT::Sandbox::User \"root\";\n{options}"
        );
        fs::write(dir.join("apt.conf"), settings)?;
        let apt = PrivateApt { dir };
        voice.run(
            &format!("Reading the package list of {suite}"),
            apt.command("apt-get").arg("update"),
        )?;
        Ok(apt)
    }

    /// Versions of `package` on offer, newest first.
    pub(crate) fn versions(&self, package: &str) -> Result<Vec<String>> {
        let text = printed(self.command("apt-cache").args(["madison", package]))?;
        Ok(madison_versions(&text))
    }

    /// Packages that the newest `package` depends on.
    pub(crate) fn depends(&self, package: &str) -> Result<Vec<String>> {
        let mut depends = self.command("apt-cache");
        depends.args(["depends", "--important", package]);
        Ok(depends_names(&printed(depends.env("LC_ALL", "C"))?))
    }

    /// Downloads `package` and unpacks it, without installing, into `into`.
    pub(crate) fn unpack(
        &self,
        voice: Voice,
        package: &str,
        version: &str,
        into: &Path,
    ) -> Result<()> {
        let downloads = tempfile::tempdir_in(&self.dir)?;
        voice.run(
            &format!("Downloading {package} {version}"),
            self.command("apt-get")
                .current_dir(&downloads)
                .args(["download", &format!("{package}={version}")]),
        )?;
        let deb = files_below(downloads.path())?
            .pop()
            .with_context(|| format!("apt-get downloaded no package for {package}"))?;
        fs::create_dir_all(into)?;
        voice.run(
            &format!("Unpacking {package}"),
            Command::new("dpkg-deb").arg("-x").arg(deb).arg(into),
        )
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.arg("-c").arg(self.dir.join("apt.conf"));
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
