//! A model file of the card.

use core::cell::RefMut;

use llm::checked::Checked;
use llm::source::ModelSource;
use storage::File;

use super::{Error, Slot};

/// An open model file. It has the slot until it is dropped.
pub struct CardFile<'a> {
    file: Checked<Unchecked<'a>>,
    /// What `<name>.crc32c` says, if it is there.
    expected: Option<u32>,
}

impl<'a> CardFile<'a> {
    /// Opens the model `name`.
    pub fn open(mut slot: RefMut<'a, Slot>, name: &str) -> Result<Self, Error> {
        let file = slot.volume().and_then(|volume| Ok(volume.open(name)?));
        let file = slot.unless_it_failed(file)?;
        // By the file's own name: it may have been asked for by its short one.
        let expected = slot.checksum_of(file.name())?;
        let failed = false;
        Ok(Self {
            file: Checked::new(Unchecked { slot, file, failed }),
            expected,
        })
    }
}

impl ModelSource for CardFile<'_> {
    type Error = Error;

    fn len_bytes(&self) -> u64 {
        self.file.len_bytes()
    }

    fn n_pieces(&self) -> Option<usize> {
        Some(self.file.source().file.n_pieces())
    }

    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        match self.expected {
            Some(_) => self.file.read_at(offset, buf),
            None => self.file.read_unchecked(offset, buf),
        }
    }

    fn unchecked_from(&self, offset: u64) -> Option<u64> {
        self.expected.and_then(|_| self.file.unchecked_from(offset))
    }

    fn read_unchecked(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        self.file.read_unchecked(offset, buf)
    }

    fn note_checksum(&mut self, offset: u64, len_bytes: u64, crc32c: u32) {
        self.file.note_checksum(offset, len_bytes, crc32c);
    }

    fn finish(mut self) -> Result<(), Error> {
        let Some(expected) = self.expected else {
            return Ok(());
        };
        match self.file.crc32c()? {
            found if found == expected => Ok(()),
            found => Err(Error::Checksum {
                name: self.file.source().file.name().into(),
                expected,
                found,
            }),
        }
    }
}

/// The file without its checksum.
struct Unchecked<'a> {
    slot: RefMut<'a, Slot>,
    file: File,
    /// Whether the card failed.
    failed: bool,
}

impl ModelSource for Unchecked<'_> {
    type Error = Error;

    fn len_bytes(&self) -> u64 {
        self.file.len_bytes()
    }

    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        // The volume stays mounted while a file of it is open.
        let read = self.slot.volume()?.read_at(&self.file, offset, buf);
        self.failed |= read.as_ref().is_err_and(storage::Error::is_device);
        Ok(read?)
    }
}

impl Drop for Unchecked<'_> {
    /// After a card that failed, the next access finds out anew what is in the slot.
    fn drop(&mut self) {
        if self.failed {
            self.slot.unmount();
        }
    }
}
