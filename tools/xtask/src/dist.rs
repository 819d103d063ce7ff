//! `cargo xtask dist`: the three files for a card with an operating system, under names that it does not have.

use crate::card::CardFile;
use crate::firmware;
use crate::image::guest_files;
use crate::voice::Voice;
use crate::workspace::output_dir;
use anyhow::Result;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Read;
use std::path::Path;

/// Writes pilm8.img, pilm-config.txt, pilm.txt and their checksums to `target/pilm/dist`.
///
/// # Errors
/// The kernel does not build, or the folder cannot be written.
pub fn dist() -> Result<()> {
    let firmware = firmware::build(Voice::new(false))?;
    let dir = output_dir().join("dist");
    let sums = write(&dir, &guest_files(&firmware)?)?;
    stdout::text!("{sums}")?;
    stdout::line!("{}", dir.display())?;
    Ok(())
}

/// Writes `files` and `SHA256SUMS`, as `sha256sum --check` reads it, to an empty `dir`; the sums.
fn write(dir: &Path, files: &[CardFile]) -> Result<String> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)?;
    let mut sums = String::new();
    for file in files {
        let mut bytes = Vec::new();
        file.open()?.read_to_end(&mut bytes)?;
        fs::write(dir.join(&file.name), &bytes)?;
        sums.push_str(&format!("{:x}  {}\n", Sha256::digest(&bytes), file.name));
    }
    fs::write(dir.join("SHA256SUMS"), &sums)?;
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_sums_are_written_and_old_ones_go() {
        let dir = output_dir().join("dist-tests");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("kernel7l.img"), "from before").unwrap();
        let sums = write(&dir, &[CardFile::bytes("kernel8.img", *b"abc")]).unwrap();
        assert_eq!(
            sums,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  kernel8.img\n"
        );
        let mut names: Vec<_> = fs::read_dir(&dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["SHA256SUMS", "kernel8.img"]);
    }
}
