//! `cargo xtask dist`: the files for a card with an operating system, under names that it does not have.

use crate::card::CardFile;
use crate::firmware;
use crate::image::{guest_files, model_files};
use crate::voice::Voice;
use crate::workspace::output_dir;
use anyhow::Result;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What goes beside the firmware's files.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Model that goes onto the same card (GGUF): writes its checksum, which the firmware verifies; repeat for several
    #[arg(long = "model", value_name = "FILE")]
    models: Vec<PathBuf>,
}

/// Writes pilm8.img, pilm-config.txt, pilm.txt, the models' checksum files and the sums of all to `target/pilm/dist`.
///
/// # Errors
/// The kernel does not build, a model cannot be read, or the folder cannot be written.
pub fn dist(options: &Options) -> Result<()> {
    let checksums = checksum_files(&options.models)?;
    let firmware = firmware::build(Voice::new(false))?;
    let dir = output_dir().join("dist");
    let mut files = guest_files(&firmware)?;
    files.extend(checksums);
    let sums = write(&dir, &files)?;
    stdout::text!("{sums}")?;
    stdout::line!("{}", dir.display())?;
    Ok(())
}

/// What goes beside each model on its card.
fn checksum_files(models: &[PathBuf]) -> Result<Vec<CardFile>> {
    let files = models.iter().map(|model| {
        let [_, checksum] = model_files(model)?;
        Ok(checksum)
    });
    files.collect()
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
    fn a_model_leaves_its_checksum_and_no_copy() {
        let dir = output_dir().join("dist-model-tests");
        fs::create_dir_all(&dir).unwrap();
        let model = dir.join("m.gguf");
        fs::write(&model, "123456789").unwrap();
        let files = checksum_files(&[model]).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["m.gguf.crc32c"]);
        let mut text = String::new();
        files[0].open().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "e3069283  m.gguf\n");
        assert!(checksum_files(&[dir.join("none.gguf")]).is_err());
    }

    #[test]
    fn files_and_sums_are_written_and_old_ones_go() {
        let dir = output_dir().join("dist-tests");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("kernel8.img"), "from before").unwrap();
        let sums = write(&dir, &[CardFile::bytes("pilm8.img", *b"abc")]).unwrap();
        assert_eq!(
            sums,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  pilm8.img\n"
        );
        let mut names: Vec<_> = fs::read_dir(&dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["SHA256SUMS", "pilm8.img"]);
    }
}
