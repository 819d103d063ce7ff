//! A model file of the host's file system.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use llm::source::{ModelSource, SourceError};

/// An open file as the engine's source of bytes.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    len_bytes: u64,
}

impl FileSource {
    /// Opens the file at `path` for reading.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: &Path) -> io::Result<FileSource> {
        let file = File::open(path)?;
        let len_bytes = file.metadata()?.len();
        Ok(FileSource { file, len_bytes })
    }
}

impl ModelSource for FileSource {
    fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), SourceError> {
        let failed = |e: io::Error| SourceError {
            what: match e.kind() {
                io::ErrorKind::UnexpectedEof => "past the end of the file",
                io::ErrorKind::PermissionDenied => "permission denied",
                _ => "the file system failed",
            },
            offset,
        };
        self.file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        self.file.read_exact(buf).map_err(failed)
    }
}
