//! What the Raspberry Pi itself needs on the card: its firmware and the device tree.
//!
//! Out of Debian's packages `raspi-firmware` and, for the device tree, the arm64 kernel; cached under
//! `target/`, never part of this project. Another source is a folder that the person names.

use super::apt::{Debian, PrivateApt, Selection};
use crate::card::CardFile;
use crate::voice::Voice;
use crate::workspace::output_dir;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// Files that must be there, and what for.
///
/// Without the device tree the firmware may leave interrupts on its legacy controller (docs/hardware.md BOOT-9).
const NEEDED: [&str; 3] = ["start4.elf", "fixup4.dat", DEVICE_TREE];
const DEVICE_TREE: &str = "bcm2711-rpi-4-b.dtb";
/// Files that are taken along when they are there. The kernel comes right without them.
const WELCOME: [&str; 2] = ["overlays/disable-bt.dtbo", "LICENCE.broadcom"];

/// A release of 2026-04 or later: older ones do not start boards with the memory chips of 2025.
const OLDEST: &str = "1.20260408";
/// A release has a `start4.elf` that was built some weeks before.
const OLDEST_BUILT: (u16, u8) = (2026, 3);
/// Where `raspi-firmware` is that recent.
const FIRMWARE_SUITES: [&str; 2] = ["forky", "unstable"];
/// A released kernel has this board's device tree.
const KERNEL_SUITE: &str = "trixie";

/// The board's files out of `dir`, as a person named it.
///
/// # Errors
/// The folder lacks what the board needs.
pub fn in_folder(dir: &Path) -> Result<Vec<CardFile>> {
    for name in NEEDED {
        ensure!(
            dir.join(name).is_file(),
            "{} has no {name}: name the boot folder of a Raspberry Pi OS card, or of a firmware release",
            dir.display()
        );
    }
    Ok(NEEDED
        .iter()
        .chain(&WELCOME)
        .filter(|name| dir.join(name).is_file())
        .map(|name| CardFile::path(name, dir.join(name)))
        .collect())
}

/// The board's files out of the cache, filled from Debian's archive when it is empty.
///
/// # Errors
/// They cannot be had from here; the message says what to do.
pub fn ensure(voice: Voice) -> Result<Vec<CardFile>> {
    let dir = output_dir().join("board-files");
    if in_folder(&dir).is_err() {
        download(voice, &dir).context(
            "the Raspberry Pi's own firmware files are missing: \
             name a folder that has them with --board-files DIR, or leave them out with --no-board-files",
        )?;
    }
    in_folder(&dir)
}

/// Says when the board's firmware in `dir` is too old for some boards; `start4.elf` has its date in it.
///
/// # Errors
/// It cannot be read.
pub fn warn_of_age(voice: Voice, dir: &Path) -> Result<()> {
    let path = dir.join(NEEDED[0]);
    let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    if let Some((year, month)) = build_month(&bytes).filter(|built| *built < OLDEST_BUILT) {
        voice.say(format!(
            "{} is of {year}-{month:02}: boards with the memory chips of 2025 need one of 2026-05 or later to start.",
            path.display()
        ));
    }
    Ok(())
}

/// Year and month in which a `start4.elf` was built: the second of the two lines of this name, as in
/// `VC_BUILD_ID_TIME: May  8 2026`; the first is the time of the day.
fn build_month(bytes: &[u8]) -> Option<(u16, u8)> {
    const MONTHS: [&[u8]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let name = b"VC_BUILD_ID_TIME: ";
    let dates = bytes
        .windows(name.len() + 11)
        .filter(|line| line.starts_with(name));
    dates.map(|line| &line[name.len()..]).find_map(|date| {
        let month = MONTHS.iter().position(|month| date.starts_with(month))?;
        let year = str::from_utf8(&date[7..11]).ok()?.parse().ok()?;
        Some((year, month as u8 + 1))
    })
}

fn download(voice: Voice, dir: &Path) -> Result<()> {
    let debian = Debian::detect().context("they are Debian packages")?;
    fs::create_dir_all(dir)?;
    let firmware = unpack_firmware(voice, &debian)?;
    let boot = firmware.join("usr/lib/raspi-firmware");
    let licence = firmware.join("usr/share/doc/raspi-firmware/copyright");
    for (from, name) in [
        (boot.join(NEEDED[0]), NEEDED[0]),
        (boot.join(NEEDED[1]), NEEDED[1]),
        (licence, "LICENCE.broadcom"),
        (unpack_device_tree(voice, &debian)?, DEVICE_TREE),
    ] {
        fs::copy(&from, dir.join(name)).with_context(|| format!("copying {}", from.display()))?;
    }
    fs::remove_dir_all(scratch())?;
    Ok(())
}

fn unpack_firmware(voice: Voice, debian: &Debian) -> Result<PathBuf> {
    for suite in FIRMWARE_SUITES {
        let apt = apt_of(voice, debian, suite)?;
        let versions = apt.versions("raspi-firmware")?;
        let Some(version) = versions.iter().find(|version| version.as_str() >= OLDEST) else {
            continue;
        };
        let into = scratch().join("raspi-firmware");
        apt.unpack(voice, "raspi-firmware", version, &into)?;
        return Ok(into);
    }
    bail!(
        "no raspi-firmware of {OLDEST} or later in {}",
        FIRMWARE_SUITES.join(", ")
    )
}

/// The device tree is a file of the kernel's package.
fn unpack_device_tree(voice: Voice, debian: &Debian) -> Result<PathBuf> {
    let apt = apt_of(voice, debian, KERNEL_SUITE)?;
    let package = apt
        .depends("linux-image-arm64")?
        .into_iter()
        .find(|name| name.starts_with("linux-image-"))
        .context("linux-image-arm64 names no kernel")?;
    let version = apt.versions(&package)?.into_iter().next();
    let version = version.with_context(|| format!("{KERNEL_SUITE} has no {package}"))?;
    let into = scratch().join("linux-image");
    apt.unpack(voice, &package, &version, &into)?;
    let release = package.trim_start_matches("linux-image-");
    Ok(into.join(format!(
        "usr/lib/linux-image-{release}/broadcom/{DEVICE_TREE}"
    )))
}

fn scratch() -> PathBuf {
    output_dir().join("setup/board-files")
}

fn apt_of(voice: Voice, debian: &Debian, suite: &str) -> Result<PrivateApt> {
    PrivateApt::new(
        voice,
        debian,
        suite,
        scratch().join(suite),
        Selection::BOARD,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_the_firmware_is_refused_and_extras_are_taken_along() {
        let dir = output_dir().join("board-files-tests");
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("overlays")).unwrap();
        fs::write(dir.join("start4.elf"), "s").unwrap();
        assert!(
            in_folder(&dir)
                .unwrap_err()
                .to_string()
                .contains("fixup4.dat")
        );
        fs::write(dir.join("fixup4.dat"), "f").unwrap();
        let error = in_folder(&dir).unwrap_err().to_string();
        assert!(error.contains("no bcm2711-rpi-4-b.dtb"), "{error}");
        fs::write(dir.join(DEVICE_TREE), "d").unwrap();
        fs::write(dir.join("overlays/disable-bt.dtbo"), "o").unwrap();
        fs::write(dir.join("bootcode.bin"), "not for this board").unwrap();
        let names: Vec<_> = in_folder(&dir)
            .unwrap()
            .into_iter()
            .map(|f| f.name)
            .collect();
        assert_eq!(
            names,
            [
                "start4.elf",
                "fixup4.dat",
                DEVICE_TREE,
                "overlays/disable-bt.dtbo"
            ]
        );
    }

    #[test]
    fn a_start4_elf_says_when_it_was_built() {
        let elf = |date: &str| {
            let text = format!(
                "\x7fELF\0VC_BUILD_ID_USER: dom\0VC_BUILD_ID_TIME: 18:13:05\0VC_BUILD_ID_BRANCH: bcm2711_2\0\
                 VC_BUILD_ID_TIME: {date}\0VC_BUILD_ID_PLATFORM: raspberrypi_linux\0"
            );
            build_month(text.as_bytes())
        };
        assert_eq!(elf("May  8 2026"), Some((2026, 5)));
        assert_eq!(elf("Dec 31 2019"), Some((2019, 12)));
        assert!(elf("Feb 11 2026").unwrap() < OLDEST_BUILT);
        assert!(elf("Mar 30 2026").unwrap() >= OLDEST_BUILT);
        assert_eq!(elf("Someday soon"), None);
        assert_eq!(build_month(b"s"), None);
    }

    #[test]
    fn debian_versions_of_the_firmware_compare_as_text() {
        assert!("1.20260408+ds-1" >= OLDEST);
        assert!("1.20240424+ds-6" < OLDEST);
    }
}
