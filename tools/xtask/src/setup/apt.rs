//! Debian's packages, from the mirror that the machine's own apt sources name.
//!
//! No server is named in this project: a suite that the machine does not list is reached through the
//! mirror it does list for the suite that is installed.

mod private;

pub(crate) use private::{PrivateApt, Selection};

use crate::setup::succeeds;
use crate::voice::Voice;
use crate::workspace::printed;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::process::Command;

const DEBIAN_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The distribution and its archive.
#[derive(Debug)]
pub(crate) struct Debian {
    /// Name of the release, such as `bookworm`.
    pub(crate) codename: String,
    sources: Vec<Source>,
}

/// A suite that the machine's own apt reads.
#[derive(Debug, PartialEq, Eq)]
struct Source {
    uri: String,
    suite: String,
    signed_by: Option<String>,
}

/// Whether this machine uses apt.
pub(crate) fn has_apt() -> bool {
    succeeds(apt_get().arg("--version"))
}

/// Whether we may install packages.
fn is_root() -> bool {
    printed(Command::new("id").arg("-u")).is_ok_and(|id| id == "0\n")
}

impl Debian {
    /// Reads `/etc/os-release` and apt's sources.
    pub(crate) fn detect() -> Result<Debian> {
        let release = fs::read_to_string("/etc/os-release").context("this is not Debian")?;
        let field = |name| release_field(&release, name).unwrap_or_default();
        ensure!(field("ID") == "debian", "this is not Debian");
        let targets = printed(apt_get().args([
            "indextargets",
            "--no-release-info",
            "--format=$(SOURCESENTRY)\t$(REPO_URI)\t$(RELEASE)",
            "Created-By: Packages",
        ]))?;
        Ok(Debian {
            codename: field("VERSION_CODENAME"),
            sources: targets.lines().filter_map(source).collect(),
        })
    }

    /// Whether the machine's own sources list `suite`.
    fn lists(&self, suite: &str) -> bool {
        self.sources.iter().any(|source| source.suite == suite)
    }

    /// A `.sources` entry for the `components` of `suite` on the machine's mirror.
    fn entry(&self, suite: &str, components: &str) -> Result<String> {
        let names = [self.codename.as_str(), "stable"];
        let mut sources = self.sources.iter();
        let mirror = sources.find(|source| names.contains(&source.suite.as_str()));
        let Source { uri, signed_by, .. } = mirror.with_context(|| {
            format!(
                "no entry for {} in /etc/apt/sources.list or /etc/apt/sources.list.d: add one for your mirror",
                self.codename
            )
        })?;
        let keyring = signed_by.as_deref().unwrap_or(DEBIAN_KEYRING);
        Ok(format!(
            "Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: {components}\nSigned-By: {keyring}\n"
        ))
    }
}

/// A line of apt's index targets: the entry's place, its address and its suite. A disc has one suite only.
fn source(target: &str) -> Option<Source> {
    let [place, uri, suite] = target.split('\t').collect::<Vec<_>>()[..] else {
        return None;
    };
    let (file, number) = place.rsplit_once(':')?;
    (!uri.starts_with("cdrom:")).then(|| Source {
        uri: uri.to_owned(),
        suite: suite.to_owned(),
        signed_by: signed_by(file, number),
    })
}

/// The file with the key that a sources file's entry names, which apt does not list. Entries are lines of a `.list`
/// and stanzas of a `.sources`, counted from one.
fn signed_by(file: &str, number: &str) -> Option<String> {
    let number = number.parse::<usize>().ok()?.checked_sub(1)?;
    let text = fs::read_to_string(file).ok()?;
    let entry = if file.ends_with(".list") {
        text.lines().nth(number)?.to_owned()
    } else {
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let stanzas = lines.split(|line| line.trim().is_empty());
        stanzas.filter(|s| !s.is_empty()).nth(number)?.join("\n")
    };
    let at = entry.to_ascii_lowercase().find("signed-by")? + "signed-by".len();
    let value = entry[at..].trim_start_matches([':', '=', ' ']);
    // a key in the text instead of a file: the distribution's keyring has it too
    let path = value.split([' ', ']', '\n']).next()?;
    path.starts_with('/').then(|| path.to_owned())
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
            entry = Some((path, debian.entry(suite, "main")?));
        }
    }
    arguments.push(package);
    if !is_root() {
        let add_entry = entry.map_or_else(String::new, |(path, text)| {
            let text = text.trim_end().replace('\n', "\\n");
            format!("  printf '{text}\\n' | sudo tee {path}\n")
        });
        bail!(
            "{package} has to be installed by root; type:\n{add_entry}  sudo apt-get update\n  sudo apt-get {}\n\
             and start again",
            arguments.join(" ")
        );
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
    let mut policy = Command::new("apt-cache");
    let text = printed(policy.args(["policy", package]).env("LC_ALL", "C")).ok()?;
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

    #[test]
    fn a_new_suite_comes_from_the_mirror_of_the_installed_one() {
        let source = |uri: &str, suite: &str, signed_by: Option<&str>| Source {
            uri: uri.to_owned(),
            suite: suite.to_owned(),
            signed_by: signed_by.map(str::to_owned),
        };
        let debian = Debian {
            codename: "bookworm".to_owned(),
            sources: vec![
                source("mirror:/other", "nodistro", None),
                source("mirror:/sec", "bookworm-security", None),
                source("mirror:/a", "bookworm", Some("/k.gpg")),
                source("mirror:/a", "bookworm-updates", Some("/k.gpg")),
            ],
        };
        let entry = debian.entry("bookworm-backports", "main").unwrap();
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
        let error = debian.entry("bookworm-backports", "main").unwrap_err();
        assert!(error.to_string().contains("bookworm"));
    }

    #[test]
    fn the_key_is_that_of_the_entry() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str, text: &str, number: usize| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            format!("{}:{number}", path.display())
        };
        let lines = "# near\n\ndeb [arch=amd64 signed-by=/K.gpg] mirror:/a bookworm main\n\
                     deb mirror:/b x main\n";
        let stanzas = "# a snapshot\n\nTypes: deb deb-src\n# of it\nURIs: mirror:/a\nSuites: bookworm\n\
                       signed-by: /K.gpg\n\n\nTypes: deb\nURIs: mirror:/b\nSuites: x\n\n\
                       Types: deb\nURIs: mirror:/c\nSuites: y\nSigned-By:\n -----BEGIN PGP\n";
        for (name, text, number, key) in [
            ("a.list", lines, 3, Some("/K.gpg")),
            ("a.list", lines, 4, None),
            ("a.sources", stanzas, 1, Some("/K.gpg")),
            ("a.sources", stanzas, 2, None),
            // a key in the text is not taken for a file
            ("a.sources", stanzas, 3, None),
        ] {
            let target = format!("{}\tmirror:/a/\tbookworm", place(name, text, number));
            let found = source(&target).unwrap();
            assert_eq!(found.signed_by.as_deref(), key, "{name}:{number}");
            assert_eq!(
                (found.uri.as_str(), found.suite.as_str()),
                ("mirror:/a/", "bookworm")
            );
        }
        assert_eq!(source("/a.list:1\tcdrom://disc/\tbookworm"), None);
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
