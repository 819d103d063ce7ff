//! Digests of files.

use anyhow::{Context, Result, ensure};
use ops::crc32c::Crc32c;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The SHA-256 of a file in lower-case hexadecimal.
///
/// # Errors
/// The file cannot be read.
pub fn sha256(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
    let mut hasher = Sha256::new();
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
pub fn matches(path: &Path, expected: &str) -> Result<bool> {
    Ok(path.exists() && sha256(path)? == expected)
}

/// Fails unless the file has this digest.
///
/// # Errors
/// It has another one, or cannot be read.
pub fn check(path: &Path, expected: &str) -> Result<()> {
    let found = sha256(path)?;
    ensure!(
        found == expected,
        "{} is not the file it should be: its SHA-256 is {found}, not {expected}; delete it and start again",
        path.display()
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
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
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
