//! `cargo xtask manifest`: what Raspberry Pi Imager reads as a custom repository.

use crate::digest::sha256;
use crate::image::file_name;
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a release, and where they are to be had.
#[derive(Args, Debug)]
pub struct Options {
    /// Image as it lies on the card.
    #[arg(long, value_name = "FILE")]
    image: PathBuf,
    /// The same image compressed, as it is downloaded.
    #[arg(long, value_name = "FILE")]
    compressed: PathBuf,
    /// Where the compressed image is downloaded from.
    #[arg(long)]
    url: String,
    /// Picture beside the name, 40 by 40. The schema demands the key; the text may be empty.
    #[arg(long, value_name = "URL", default_value = "")]
    icon: String,
    /// Day of the release.
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: String,
}

/// One line of Imager's list. The schema demands every field but `image_download_sha256` and `init_format`.
#[derive(Serialize)]
struct System<'a> {
    name: String,
    description: &'a str,
    icon: &'a str,
    url: &'a str,
    extract_size: u64,
    extract_sha256: String,
    image_download_size: u64,
    image_download_sha256: String,
    release_date: &'a str,
    devices: [&'a str; 1],
    init_format: &'a str,
}

/// Prints the manifest.
///
/// # Errors
/// A file cannot be read, or an option is not what Imager takes.
pub fn manifest(options: &Options) -> Result<()> {
    stdout::line!("{}", text(options)?)?;
    Ok(())
}

fn text(options: &Options) -> Result<String> {
    let name = file_name(&options.compressed)?;
    ensure!(
        options.url.starts_with("https://") && options.url.ends_with(&format!("/{name}")),
        "{:?} is not an https address of {name}",
        options.url
    );
    ensure!(
        is_day(&options.date),
        "{:?} is not a day as YYYY-MM-DD",
        options.date
    );
    let system = System {
        name: format!("PiLM {}", env!("CARGO_PKG_VERSION")),
        description: "Firmware that answers as a language model on the serial console",
        icon: &options.icon,
        url: &options.url,
        extract_size: size(&options.image)?,
        extract_sha256: sha256(&options.image)?,
        image_download_size: size(&options.compressed)?,
        image_download_sha256: sha256(&options.compressed)?,
        release_date: &options.date,
        devices: ["pi4-64bit"],
        // there is no operating system whose users, network or time zone Imager could set
        init_format: "none",
    };
    // the document: a subset of doc/json-schema/os-list-schema.json of raspberrypi/rpi-imager
    let document = BTreeMap::from([("os_list", [system])]);
    Ok(serde_json::to_string_pretty(&document)?)
}

fn size(path: &Path) -> Result<u64> {
    let metadata = fs::metadata(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(metadata.len())
}

/// Whether `text` reads YYYY-MM-DD, with a month and a day that some year has.
fn is_day(text: &str) -> bool {
    let has_form = text.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    text.len() == 10
        && has_form
        && ("01"..="12").contains(&&text[5..7])
        && ("01"..="31").contains(&&text[8..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::output_dir;
    use serde_json::{Value, json};

    fn options(folder: &str) -> Options {
        let dir = output_dir().join("manifest-tests").join(folder);
        fs::create_dir_all(&dir).unwrap();
        let (image, compressed) = (dir.join("sd.img"), dir.join("sd.img.xz"));
        // FIPS 180-4's two short examples
        fs::write(
            &image,
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        )
        .unwrap();
        fs::write(&compressed, "abc").unwrap();
        Options {
            image,
            compressed,
            url: "https://example.org/v1/sd.img.xz".to_owned(),
            icon: "https://example.org/icon.svg".to_owned(),
            date: "2026-12-31".to_owned(),
        }
    }

    #[test]
    fn each_key_of_the_schema_has_its_type_and_value() {
        let found: Value = serde_json::from_str(&text(&options("keys")).unwrap()).unwrap();
        let expected = json!({"os_list": [{
            "name": format!("PiLM {}", env!("CARGO_PKG_VERSION")),
            "description": "Firmware that answers as a language model on the serial console",
            "icon": "https://example.org/icon.svg",
            "url": "https://example.org/v1/sd.img.xz",
            "extract_size": 56,
            "extract_sha256": "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            "image_download_size": 3,
            "image_download_sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "release_date": "2026-12-31",
            "devices": ["pi4-64bit"],
            "init_format": "none",
        }]});
        assert_eq!(found, expected);
    }

    #[test]
    fn what_imager_could_not_use_is_refused() {
        let error = |change: fn(&mut Options)| {
            let mut options = options("refused");
            change(&mut options);
            text(&options).unwrap_err().to_string()
        };
        for date in [
            "2026-13-01",
            "2026-00-01",
            "2026-12-32",
            "2026-12-00",
            "26-12-01",
            "2026-12-1",
            "2026-12",
            "+026-12-01",
        ] {
            assert!(!is_day(date), "{date}");
        }
        assert!(error(|options| options.date = "1 December".to_owned()).contains("YYYY-MM-DD"));
        assert!(
            error(|options| options.url = "https://example.org/v1/sd.img".to_owned())
                .contains("sd.img.xz")
        );
        assert!(
            error(|options| options.url = "http://example.org/sd.img.xz".to_owned())
                .contains("https")
        );
        assert!(error(|options| options.image = "absent.img".into()).contains("absent.img"));
    }
}
