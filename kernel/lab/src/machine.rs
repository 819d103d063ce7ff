//! What an experiment needs of the machine that it runs on.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefMut;
use llm::engine::Timer;
use llm::source::ModelSource;
use parallel::Cores;
use protocol::event::{Phase, Sd, SdErrors};
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

/// One read of a piece of the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SdReading {
    /// What it took.
    pub us: u64,
    /// What went wrong and was put right.
    pub errors: SdErrors,
}

/// A piece of the card, read for its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SdPiece {
    /// As loads read, if that is by DMA.
    pub dma: Option<SdReading>,
    /// By the data port, if asked for.
    pub pio: Option<SdReading>,
    /// Bytes that were read both ways.
    pub compared_bytes: usize,
    /// How many of them differ.
    pub differing_bytes: usize,
    /// Where in the piece the first of them is.
    pub first_difference: Option<usize>,
}

/// A card slot, below the card's files. Nothing of it writes to a card.
pub trait SdSlot {
    /// As [`Machine::CardError`].
    type Error;
    /// Starts the card anew: what controller and card say, and why the card cannot be used if so.
    fn look(&mut self) -> (Sd, Result<(), Self::Error>);
    /// Reads `len_bytes` of the card at `offset`, both whole blocks, in the way of loads, and by the data
    /// port if `by_pio`.
    ///
    /// # Errors
    /// The card cannot be read.
    fn read(&mut self, offset: u64, len_bytes: usize, by_pio: bool)
    -> Result<SdPiece, Self::Error>;
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
    /// Interrupts taken since the start, where they are counted: the same before and after a measurement, or it is
    /// void.
    fn irqs_taken(&self) -> Option<u32> {
        None
    }
    /// Cycles of the calling core's own clock, where they are counted.
    fn cycles(&self) -> Option<u64> {
        None
    }
    /// Holds back what is to be sent on the serial line while something is measured, or lets it go again.
    fn hold_output(&self, hold: bool) {
        let _ = hold;
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
    /// The card slot; none where files come from elsewhere.
    fn sd_slot(&self) -> Option<RefMut<'_, dyn SdSlot<Error = Self::CardError>>> {
        None
    }
}
