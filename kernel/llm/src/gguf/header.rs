//! The whole header of a GGUF file, and how much of the file it takes.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::Deref;

use super::cursor::Cursor;
use super::{
    DEFAULT_ALIGNMENT, Error, MAX_ALIGNMENT, MAX_HEADER_BYTES, MAX_TENSORS, Metadata, TensorInfo,
    tensors,
};
use crate::load_error::LoadError;
use crate::source::ModelSource;

const MAGIC: [u8; 4] = *b"GGUF";
/// First read of [`Gguf::read`]: enough for everything but the vocabulary.
const FIRST_WINDOW_BYTES: u64 = 256 << 10;

/// A parsed header, and its bytes; [`Metadata`]'s getters are its own.
#[derive(Clone, Debug)]
pub struct Gguf<'a> {
    version: u32,
    alignment: u64,
    header_len_bytes: u64,
    metadata: Metadata<'a>,
    tensors: Vec<TensorInfo>,
}

impl<'a> Gguf<'a> {
    /// Parses the first bytes of a file that has `file_len_bytes` bytes in all.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the file goes on where `bytes` ends: call again with at least
    /// `needed_bytes` (it never exceeds `file_len_bytes`). Everything else means that the file is
    /// damaged or is not for this reader.
    pub fn parse(bytes: &'a [u8], file_len_bytes: u64) -> Result<Self, Error> {
        let mut gguf: Gguf<'a> = Gguf::parse_apart(bytes, file_len_bytes)?;
        gguf.metadata.bytes = Cow::Borrowed(bytes);
        Ok(gguf)
    }

    /// Version of the format: 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Alignment of every tensor's offset.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Bytes from the start of the file to the end of the tensor table, without padding.
    pub fn header_len_bytes(&self) -> u64 {
        self.header_len_bytes
    }

    /// Every tensor, in file order.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = &TensorInfo> {
        self.tensors.iter()
    }

    /// The tensor with this name, if the file has it.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors().find(|tensor| tensor.name == name)
    }

    /// Bytes that one decoded token reads: every tensor, and of an embedding that is not the output
    /// matrix too one row.
    pub fn bytes_per_token(&self) -> u64 {
        let all: u64 = self.tensors().map(|tensor| tensor.len_bytes).sum();
        let output = self.tensor("output.weight");
        let embedding = output.and_then(|_| self.tensor("token_embd.weight"));
        let unread = |tensor: &TensorInfo| tensor.len_bytes - tensor.len_bytes / tensor.rows();
        all - embedding.map_or(0, unread)
    }
}

impl<'a> Deref for Gguf<'a> {
    type Target = Metadata<'a>;

    fn deref(&self) -> &Metadata<'a> {
        &self.metadata
    }
}

fn read_version(cursor: &mut Cursor<'_>) -> Result<u32, Error> {
    let found = cursor.array()?;
    if found != MAGIC {
        return Err(Error::BadMagic { found });
    }
    match cursor.u32()? {
        version @ (2 | 3) => Ok(version),
        swapped if matches!(swapped.swap_bytes(), 1..=3) => Err(Error::BigEndian),
        version => Err(Error::UnsupportedVersion { version }),
    }
}

fn read_alignment(metadata: &Metadata<'_>) -> Result<u64, Error> {
    match metadata.optional_u32("general.alignment")? {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(a) if a.is_power_of_two() && u64::from(a) <= MAX_ALIGNMENT => Ok(a.into()),
        Some(alignment) => Err(Error::BadAlignment { alignment }),
    }
}

impl Gguf<'static> {
    /// Reads as much of a file as its header takes, and not much more.
    ///
    /// # Errors
    /// The source's error, a header beyond [`MAX_HEADER_BYTES`], no memory for it, or what
    /// [`Gguf::parse`] found.
    pub fn read<E: core::error::Error>(
        source: &mut dyn ModelSource<Error = E>,
    ) -> Result<Self, LoadError<E>> {
        let file_len_bytes = source.len_bytes();
        let mut window = Vec::new();
        let mut wanted = FIRST_WINDOW_BYTES.min(file_len_bytes);
        loop {
            let have = window.len();
            let reserved = window.try_reserve_exact(wanted as usize - have);
            reserved.map_err(|_| Error::OutOfMemory { bytes: wanted })?;
            window.resize(wanted as usize, 0);
            let read = source.read_at(have as u64, &mut window[have..]);
            read.map_err(LoadError::Source)?;
            match Self::parse_apart(&window, file_len_bytes) {
                Ok(mut gguf) => {
                    window.truncate(gguf.header_len_bytes() as usize);
                    gguf.metadata.bytes = Cow::Owned(window);
                    return Ok(gguf);
                }
                Err(Error::Truncated { needed_bytes }) => {
                    let max_bytes = MAX_HEADER_BYTES;
                    if needed_bytes > max_bytes {
                        return Err(Error::HeaderTooLong { max_bytes }.into());
                    }
                    wanted = needed_bytes
                        .max(wanted * 2)
                        .min(file_len_bytes)
                        .min(max_bytes);
                }
                Err(other) => return Err(other.into()),
            }
        }
    }

    /// Parses `bytes`; the result is yet to get them.
    fn parse_apart(bytes: &[u8], file_len_bytes: u64) -> Result<Self, Error> {
        let mut cursor = Cursor::new(bytes, file_len_bytes);
        let version = read_version(&mut cursor)?;
        let n_tensors = cursor.u64()?;
        let min_bytes = tensors::MIN_ENTRY_BYTES;
        cursor.check_count("tensors", 8, n_tensors, MAX_TENSORS, min_bytes)?;
        let metadata = Metadata::read(&mut cursor)?;
        let alignment = read_alignment(&metadata)?;
        let mut tensors = tensors::read(&mut cursor, n_tensors)?;
        let header_len_bytes = cursor.pos();
        let data_start = header_len_bytes.next_multiple_of(alignment);
        tensors::place(&mut tensors, data_start, alignment, file_len_bytes)?;
        Ok(Gguf {
            version,
            alignment,
            header_len_bytes,
            metadata,
            tensors,
        })
    }
}
