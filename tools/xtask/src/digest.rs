//! Digests of files.

use anyhow::{Context, Result, ensure};
use ops::crc32c::Crc32c;
use sha2::Digest;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A digest in lower-case hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sha256(pub &'static str);

/// The digest of a file.
///
/// # Errors
/// The file cannot be read.
pub fn sha256(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
    let mut hasher = sha2::Sha256::new();
    io::copy(&mut file, &mut hasher).with_context(|| format!("reading {}", path.display()))?;
    Ok(format!("{:x}", hasher.finalize()))
}

/// The CRC-32C of a file.
///
/// # Errors
/// The file cannot be read.
pub fn crc32c(path: &Path) -> Result<u32> {
    let mut file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
    let mut crc = Crc32c::new();
    let mut chunk = vec![0; 1 << 20];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(crc.value()),
            n => crc.update(&chunk[..n]),
        }
    }
}

/// Whether the file is there and has this digest.
///
/// # Errors
/// The file is there and cannot be read.
pub fn matches(path: &Path, expected: Sha256) -> Result<bool> {
    Ok(path.exists() && sha256(path)? == expected.0)
}

/// Fails unless the file has this digest.
///
/// # Errors
/// It has another one, or cannot be read.
pub fn check(path: &Path, expected: Sha256) -> Result<()> {
    let found = sha256(path)?;
    ensure!(
        found == expected.0,
        "{} is not the file it should be: its SHA-256 is {found}, not {}; delete it and start again",
        path.display(),
        expected.0
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_told_from_another() {
        let dir = crate::workspace::output_dir().join("digest-tests");
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("abc");
        fs::write(&path, "abc").unwrap();
        // FIPS 180-4's example
        let abc = Sha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(matches(&path, abc).unwrap());
        check(&path, abc).unwrap();
        fs::write(&path, "abd").unwrap();
        assert!(!matches(&path, abc).unwrap());
        assert!(
            check(&path, abc)
                .unwrap_err()
                .to_string()
                .contains("delete it")
        );
        assert!(!matches(&dir.join("absent"), abc).unwrap());
    }
}
