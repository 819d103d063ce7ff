//! A model file of the host's file system.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use llm::source::ModelSource;

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
    /// Those of the file system; a directory.
    pub fn open(path: &Path) -> io::Result<FileSource> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            let what = "it is a directory; name the GGUF file in it";
            return Err(io::Error::new(io::ErrorKind::IsADirectory, what));
        }
        let len_bytes = metadata.len();
        Ok(FileSource { file, len_bytes })
    }
}

impl ModelSource for FileSource {
    type Error = FileError;

    fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), FileError> {
        let seek = self.file.seek(SeekFrom::Start(offset));
        seek.and_then(|_| self.file.read_exact(buf))
            .map_err(|error| FileError::Read { offset, error })
    }
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentences say what the fields hold")]
pub enum FileError {
    /// The model file does not open.
    #[error("the model file cannot be read: {0}")]
    Model(io::Error),
    /// A read of the model file failed.
    #[error("reading the model at byte {offset}: {}", what(.error))]
    Read { offset: u64, error: io::Error },
    /// A text file cannot be read.
    #[error("{name} cannot be read: {error}")]
    Text { name: String, error: io::Error },
}

/// What the file system says, as a short phrase.
fn what(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "past the end of the file",
        io::ErrorKind::PermissionDenied => "permission denied",
        _ => "the file system failed",
    }
}
