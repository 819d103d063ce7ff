//! The two forms of apt's sources.

use std::fs;
use std::path::Path;

/// One entry of apt's sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) uri: String,
    pub(super) suites: Vec<String>,
    pub(super) signed_by: Option<String>,
}

/// All entries of the folder `/etc/apt`.
pub(super) fn read_sources(etc_apt: &Path) -> Vec<Source> {
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
}
