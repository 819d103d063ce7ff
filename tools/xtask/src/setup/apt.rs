//! Debian's packages, from the mirror that the machine's own apt sources name.
//!
//! No server is named in this project: a suite that the machine does not list is reached through the
//! mirror it does list for the suite that is installed.

use crate::setup::exists;
use crate::voice::Voice;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const DEBIAN_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// One entry of apt's sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    uri: String,
    suites: Vec<String>,
    signed_by: Option<String>,
}

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

fn release_field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        .map(|value| value.trim_matches('"').to_owned())
}

fn read_sources(etc_apt: &Path) -> Vec<Source> {
    let mut files = vec![etc_apt.join("sources.list")];
    if let Ok(entries) = fs::read_dir(etc_apt.join("sources.list.d")) {
        let mut parts: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        parts.sort();
        files.extend(parts);
    }
    let mut sources = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("list") => sources.extend(text.lines().filter_map(one_line_source)),
            Some("sources") => sources.extend(stanza_sources(&text)),
            _ => {}
        }
    }
    sources
}

/// `deb [signed-by=KEYRING arch=amd64] URI SUITE COMPONENT…`
fn one_line_source(line: &str) -> Option<Source> {
    let rest = line.split('#').next()?.trim().strip_prefix("deb ")?.trim();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let uri = words.next()?.to_owned();
    let suite = words.next()?.to_owned();
    let signed_by = options
        .split_whitespace()
        .find_map(|option| option.strip_prefix("signed-by="))
        .map(str::to_owned);
    Some(Source {
        uri,
        suites: vec![suite],
        signed_by,
    })
    .filter(usable)
}

/// Stanzas of `Field: value` lines; lines that start with a space continue the one above.
fn stanza_sources(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for stanza in lines.split(|line| line.trim().is_empty()) {
        let field = |name: &str| -> Option<String> {
            let at = stanza.iter().position(|line| {
                line.split_once(':')
                    .is_some_and(|(key, _)| key.eq_ignore_ascii_case(name))
            })?;
            let mut value = stanza[at].split_once(':')?.1.trim().to_owned();
            for more in stanza[at + 1..].iter().take_while(|l| l.starts_with(' ')) {
                value.push(' ');
                value.push_str(more.trim());
            }
            Some(value.trim().to_owned())
        };
        let binary = field("Types").is_some_and(|types| types.split(' ').any(|t| t == "deb"));
        let enabled = field("Enabled").is_none_or(|value| !value.eq_ignore_ascii_case("no"));
        let (Some(uris), Some(suites)) = (field("URIs"), field("Suites")) else {
            continue;
        };
        if !binary || !enabled {
            continue;
        }
        for uri in uris.split_whitespace() {
            sources.push(Source {
                uri: uri.to_owned(),
                suites: suites.split_whitespace().map(str::to_owned).collect(),
                // a key in the text instead of a file: the distribution's keyring has it too
                signed_by: field("Signed-By").filter(|value| value.starts_with('/')),
            });
        }
    }
    sources.retain(usable);
    sources
}

/// A disc has one suite only.
fn usable(source: &Source) -> bool {
    !source.uri.starts_with("cdrom:")
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
    fn one_line_sources_are_read() {
        assert_eq!(
            one_line_source("deb mirror:/a bookworm main contrib # near"),
            Some(source("mirror:/a", &["bookworm"], None))
        );
        assert_eq!(
            one_line_source("deb [arch=amd64 signed-by=/k.gpg] mirror:/a bookworm main"),
            Some(source("mirror:/a", &["bookworm"], Some("/k.gpg")))
        );
        for line in [
            "# deb mirror:/a bookworm main",
            "deb-src mirror:/a bookworm main",
            "deb cdrom:[disc]/ bookworm main",
            "",
        ] {
            assert_eq!(one_line_source(line), None, "{line}");
        }
    }

    #[test]
    fn stanzas_are_read() {
        let text = "Types: deb deb-src\n# a snapshot\nURIs: mirror:/a\nSuites: bookworm\n bookworm-updates\n\
                    Components: main\nSigned-By: /k.gpg\n\nTypes: deb\nURIs: mirror:/b\nSuites: x\nEnabled: no\n\n\
                    Types: deb-src\nURIs: mirror:/c\nSuites: y\n";
        assert_eq!(
            stanza_sources(text),
            [source(
                "mirror:/a",
                &["bookworm", "bookworm-updates"],
                Some("/k.gpg")
            )]
        );
    }

    #[test]
    fn a_key_in_the_text_is_not_taken_for_a_file() {
        let text = "Types: deb\nURIs: mirror:/a\nSuites: x\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n";
        assert_eq!(stanza_sources(text), [source("mirror:/a", &["x"], None)]);
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
    fn dependencies_are_read() {
        let text = "linux-image-arm64\n  Depends: linux-image-6.12-arm64\n";
        assert_eq!(depends_names(text), ["linux-image-6.12-arm64"]);
    }

    #[test]
    fn os_release_and_madison_are_read() {
        let release = "PRETTY_NAME=\"Debian\"\nID=debian\nVERSION_CODENAME=bookworm\n";
        assert_eq!(release_field(release, "ID").unwrap(), "debian");
        assert_eq!(
            release_field(release, "VERSION_CODENAME").unwrap(),
            "bookworm"
        );
        let madison = "  rust-src | 1.95.0+dfsg1-2~bpo13+1 | mirror:/a trixie-backports/main amd64 Packages\n";
        assert_eq!(madison_versions(madison), ["1.95.0+dfsg1-2~bpo13+1"]);
    }
}
