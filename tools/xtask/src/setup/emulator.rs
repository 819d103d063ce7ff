//! QEMU with the `raspi4b` machine, which version 9 brought.

use super::apt::{self, Debian};
use crate::voice::Voice;
use anyhow::{Context, Result, bail};

const PACKAGE: &str = "qemu-system-arm";
const NEEDED_MAJOR: u32 = 9;

/// Makes sure that a QEMU with `raspi4b` is installed.
///
/// # Errors
/// It is not, and cannot be installed from here; the message says what to do.
pub fn ensure(voice: Voice) -> Result<()> {
    match qemu::version() {
        Some((major, _)) if major >= NEEDED_MAJOR => return Ok(()),
        Some((major, minor)) => voice.say(format!(
            "QEMU {major}.{minor} is installed, but its raspi4b machine came with version {NEEDED_MAJOR}."
        )),
        None => voice.say("qemu-system-aarch64 is not installed."),
    }
    if !apt::has_apt() {
        bail!(
            "install qemu-system-aarch64 of QEMU {NEEDED_MAJOR} or later: \
             `dnf install qemu-system-aarch64` (Fedora), `pacman -S qemu-system-aarch64` (Arch), \
             `brew install qemu` (macOS)"
        );
    }
    install(voice)?;
    match qemu::version() {
        Some((major, _)) if major >= NEEDED_MAJOR => Ok(()),
        Some((major, minor)) => bail!(
            "QEMU {major}.{minor} is still the one that is found: is another qemu-system-aarch64 in your PATH?"
        ),
        None => bail!("{PACKAGE} is installed, but qemu-system-aarch64 does not start"),
    }
}

fn install(voice: Voice) -> Result<()> {
    if apt::candidate(PACKAGE).is_some_and(|version| major(&version) >= NEEDED_MAJOR) {
        return apt::install(voice, PACKAGE, None);
    }
    let debian = Debian::detect().with_context(|| {
        format!(
            "this system's {PACKAGE} is older than QEMU {NEEDED_MAJOR}: take a newer release of your system, \
             or build QEMU from source with --target-list=aarch64-softmmu"
        )
    })?;
    let backports = format!("{}-backports", debian.codename);
    apt::install(voice, PACKAGE, Some((&debian, &backports)))
}

/// Major version of a Debian version such as `1:10.0.2+ds-2`; 0 when it has none.
fn major(version: &str) -> u32 {
    let upstream = version.split_once(':').map_or(version, |(_, rest)| rest);
    let digits = upstream.split(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_is_not_the_version() {
        assert_eq!(major("1:10.0.2+ds-2+deb13u1~bpo12+1"), 10);
        assert_eq!(major("1:7.2+dfsg-7+deb12u13"), 7);
        assert_eq!(major("9.2.1"), 9);
        assert_eq!(major(""), 0);
    }
}
