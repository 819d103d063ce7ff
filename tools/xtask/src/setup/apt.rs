//! Debian's packages, from the mirror that the machine's own apt sources name.
//!
//! No server is named in this project: a suite that the machine does not list is reached through the
//! mirror it does list for the suite that is installed.

mod private;
mod sources;

pub(crate) use private::PrivateApt;

use crate::setup::exists;
use crate::voice::Voice;
use anyhow::{Context, Result, bail};
use sources::{Source, read_sources};
use std::fs;
use std::path::Path;
use std::process::Command;

const DEBIAN_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The distribution and its archive.
#[derive(Debug)]
pub(crate) struct Debian {
    /// Name of the release, such as `bookworm`.
    pub(crate) codename: String,
    sources: Vec<Source>,
}

/// Whether this machine uses apt.
pub(crate) fn has_apt() -> bool {
    exists("apt-get")
}

/// Whether we may install packages.
pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout == b"0\n")
}

impl Debian {
    /// Reads `/etc/os-release` and apt's sources; `None` where this is not Debian itself.
    pub(crate) fn detect() -> Option<Debian> {
        let release = fs::read_to_string("/etc/os-release").ok()?;
        if release_field(&release, "ID")? != "debian" {
            return None;
        }
        Some(Debian {
            codename: release_field(&release, "VERSION_CODENAME")?,
            sources: read_sources(Path::new("/etc/apt")),
        })
    }

    /// Whether the machine's own sources list `suite`.
    pub(crate) fn lists(&self, suite: &str) -> bool {
        self.sources
            .iter()
            .any(|source| source.suites.iter().any(|name| name == suite))
    }

    /// A `.sources` entry for `suite` on the machine's mirror.
    pub(crate) fn entry(&self, suite: &str) -> Result<String> {
        let mirror = self.mirror()?;
        let keyring = mirror.signed_by.as_deref().unwrap_or(DEBIAN_KEYRING);
        Ok(format!(
            "Types: deb\nURIs: {}\nSuites: {suite}\nComponents: main\nSigned-By: {keyring}\n",
            mirror.uri
        ))
    }

    fn mirror(&self) -> Result<&Source> {
        let names = [self.codename.as_str(), "stable"];
        self.sources
            .iter()
            .find(|source| {
                source
                    .suites
                    .iter()
                    .any(|suite| names.contains(&suite.as_str()))
            })
            .with_context(|| {
                format!(
                    "no entry for {} in /etc/apt/sources.list or /etc/apt/sources.list.d: add one for your mirror",
                    self.codename
                )
            })
    }
}

/// Installs `package` with the machine's own apt, from `suite` if one is named.
///
/// # Errors
/// Not root, with the commands to type; or apt's failure.
pub(crate) fn install(voice: Voice, package: &str, suite: Option<(&Debian, &str)>) -> Result<()> {
    let mut arguments = vec!["install", "-q", "-y", "--no-install-recommends"];
    let mut entry = None;
    if let Some((debian, suite)) = suite {
        arguments.extend(["-t", suite]);
        if !debian.lists(suite) {
            let path = format!("/etc/apt/sources.list.d/pilm-{suite}.sources");
            entry = Some((path, debian.entry(suite)?));
        }
    }
    arguments.push(package);
    if !is_root() {
        let mut commands = String::new();
        if let Some((path, text)) = &entry {
            let text = text.trim_end().replace('\n', "\\n");
            commands.push_str(&format!("  printf '{text}\\n' | sudo tee {path}\n"));
        }
        commands.push_str("  sudo apt-get update\n");
        commands.push_str(&format!("  sudo apt-get {}", arguments.join(" ")));
        bail!("{package} has to be installed by root; type:\n{commands}\nand start again");
    }
    if let Some((path, text)) = entry {
        voice.say(format!(
            "Adding {path}; packages of that suite are used only when asked for."
        ));
        fs::write(&path, text).with_context(|| format!("writing {path}"))?;
    }
    voice.run("Reading the package lists", apt_get().arg("update"))?;
    voice.run(&format!("Installing {package}"), apt_get().args(arguments))
}

/// Version of `package` that the machine's own apt would install, if any.
pub(crate) fn candidate(package: &str) -> Option<String> {
    let output = Command::new("apt-cache")
        .args(["policy", package])
        .env("LC_ALL", "C")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, rest) = text.split_once("Candidate:")?;
    let version = rest.split_whitespace().next()?;
    (version != "(none)").then(|| version.to_owned())
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn release_field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        .map(|value| value.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(uri: &str, suites: &[&str], signed_by: Option<&str>) -> Source {
        Source {
            uri: uri.to_owned(),
            suites: suites.iter().map(|&suite| suite.to_owned()).collect(),
            signed_by: signed_by.map(str::to_owned),
        }
    }

    #[test]
    fn a_new_suite_comes_from_the_mirror_of_the_installed_one() {
        let debian = Debian {
            codename: "bookworm".to_owned(),
            sources: vec![
                source("mirror:/other", &["nodistro"], None),
                source("mirror:/sec", &["bookworm-security"], None),
                source(
                    "mirror:/a",
                    &["bookworm", "bookworm-updates"],
                    Some("/k.gpg"),
                ),
            ],
        };
        let entry = debian.entry("bookworm-backports").unwrap();
        assert!(entry.contains("URIs: mirror:/a\nSuites: bookworm-backports\n"));
        assert!(entry.contains("Signed-By: /k.gpg\n"));
        assert!(debian.lists("bookworm-security"));
        assert!(!debian.lists("bookworm-backports"));
    }

    #[test]
    fn a_machine_without_an_entry_for_its_release_is_told() {
        let debian = Debian {
            codename: "bookworm".to_owned(),
            sources: Vec::new(),
        };
        let error = debian.entry("bookworm-backports").unwrap_err();
        assert!(error.to_string().contains("bookworm"));
    }

    #[test]
    fn os_release_is_read() {
        let release = "PRETTY_NAME=\"Debian\"\nID=debian\nVERSION_CODENAME=bookworm\n";
        assert_eq!(release_field(release, "ID").unwrap(), "debian");
        assert_eq!(
            release_field(release, "VERSION_CODENAME").unwrap(),
            "bookworm"
        );
    }
}
