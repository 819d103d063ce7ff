//! QEMU's log of guest errors and of hardware it does not model.

use crate::args::allowed_log_lines;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The log file of one QEMU; removed with it.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
}

impl Log {
    pub(crate) fn new() -> Log {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("pilm-qemu-{}-{n}.log", process::id());
        Log {
            path: env::temp_dir().join(name),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The lines that no entry of the allow-list explains.
    pub(crate) fn unexpected(&self) -> io::Result<Vec<String>> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(unexpected_lines(
                &String::from_utf8_lossy(&bytes),
                &allowed_log_lines(),
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // it may never have been made; nothing depends on its absence
        let _ = fs::remove_file(&self.path);
    }
}

fn unexpected_lines(log: &str, allowed: &[&str]) -> Vec<String> {
    log.lines()
        .filter(|line| !line.trim().is_empty())
        .filter(|line| !allowed.iter().any(|part| line.contains(part)))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unexplained_lines_remain() {
        let log = "known thing at 0x10\n\nInvalid read at addr 0x0\n";
        assert_eq!(
            unexpected_lines(log, &["known thing"]),
            ["Invalid read at addr 0x0"]
        );
    }
}
