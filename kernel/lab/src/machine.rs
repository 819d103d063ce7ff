//! What an experiment needs of the machine that it runs on.

use alloc::string::String;
use alloc::vec::Vec;
use llm::engine::Timer;
use llm::source::ModelSource;
use parallel::Cores;
use protocol::event::Phase;
use protocol::facts::{BoardFacts, Health};

/// A model file on the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEntry {
    /// Its name.
    pub name: String,
    /// Its size.
    pub len_bytes: u64,
}

/// A text file of the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextFile {
    /// There is no such file.
    Absent,
    /// It has more bytes than were asked for at most.
    TooLong {
        /// How many.
        len_bytes: u64,
    },
    /// All of it.
    Whole(Vec<u8>),
}

/// The machine.
pub trait Machine {
    /// What goes wrong with the card, in one line that says what to do.
    type CardError: core::error::Error;

    /// An open model file.
    type Source<'m>: ModelSource<Error = Self::CardError>
    where
        Self: 'm;

    /// A clock that never goes back.
    fn now_us(&self) -> u64;
    /// [`Machine::now_us`], or a clock of its own, that every core can read.
    fn timer(&self) -> Timer;
    /// The first `n` cores, or all of them.
    fn cores(&self, n: Option<usize>) -> &dyn Cores;
    /// What does not change.
    fn facts(&self) -> &BoardFacts;
    /// What changes.
    fn health(&self) -> Health;
    /// What a report about the machine should contain, a line each; empty where nothing is known.
    fn details(&self) -> String {
        String::new()
    }
    /// Bytes of the heap in use, where that is known.
    fn heap_used_bytes(&self) -> Option<usize> {
        None
    }
    /// Interrupts taken since the start: the same before and after a measurement, or it is void.
    fn irqs_taken(&self) -> u32 {
        0
    }
    /// Says where the work stands: for counting instructions from outside.
    fn mark(&self, phase: Phase) {
        let _ = phase;
    }
    /// A number that nobody chose.
    fn entropy(&self) -> u64;
    /// Makes memory that the session was given read-only, or writable again. A machine without such
    /// rights does nothing.
    fn set_read_only(&self, addresses: core::ops::Range<usize>, read_only: bool) {
        let _ = (addresses, read_only);
    }
    /// The model files on the card.
    ///
    /// # Errors
    /// There is no card, or it cannot be read.
    fn models(&self) -> Result<Vec<ModelEntry>, Self::CardError>;
    /// Opens a model file.
    ///
    /// # Errors
    /// There is no such file, or the card failed.
    fn open_model(&self, name: &str) -> Result<Self::Source<'_>, Self::CardError>;
    /// A file of the card's root directory, whole.
    ///
    /// # Errors
    /// It cannot be read.
    fn text_file(&self, name: &str, limit_bytes: usize) -> Result<TextFile, Self::CardError>;
}
