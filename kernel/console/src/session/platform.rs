//! What a session needs of the machine it runs on.
//!
//! The firmware implements [`Platform`] over the board, tests and the host tool over files and pipes.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use llm::engine::Timer;
use llm::source::ModelSource;
use parallel::Cores;

/// The serial line. All methods take `&self`: the session reads it from inside a generation.
pub trait Serial {
    /// A byte that has arrived.
    fn read(&self) -> Option<u8>;
    /// Sends bytes; returns when they are on their way.
    fn write(&self, bytes: &[u8]);
    /// Sleeps until a byte may have arrived; may return early.
    fn wait(&self);
    /// Whether a Ctrl-C arrived since the last call, even if there was no room for the byte.
    fn take_interrupt(&self) -> bool {
        false
    }
    /// Whether no byte will ever arrive again; a UART never ends.
    fn is_closed(&self) -> bool {
        false
    }
}

/// Where the work of a generation stands: for counting instructions from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Neither.
    Other,
    /// The prompt is worked in.
    Prefill,
    /// Tokens are generated.
    Decode,
}

/// A model file on the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    /// Its name.
    pub name: String,
    /// Its size.
    pub len_bytes: u64,
}

/// What does not change while the machine runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BoardFacts {
    /// Version of the firmware, with its commit.
    pub version: String,
    /// The board in words.
    pub board: String,
    /// The board's revision code, 0 where there is none.
    pub revision: u32,
    /// RAM of the board.
    pub ram_bytes: u64,
    /// Cores that came up.
    pub cores: usize,
    /// The cores' clock as the board states it, 0 if unknown.
    pub clock_hz: u64,
    /// Whether this is an emulator: times mean nothing then.
    pub emulated: bool,
    /// What went wrong on the way up, each in one line.
    pub warnings: Vec<String>,
}

/// What changes while the machine runs. What cannot be read is `None`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Health {
    /// Temperature of the SoC.
    pub celsius: Option<f32>,
    /// The firmware's throttle flags.
    pub throttled: Option<u32>,
    /// Bytes of the heap in use.
    pub heap_used_bytes: Option<usize>,
    /// Bytes of the heap.
    pub heap_bytes: Option<usize>,
    /// Most bytes of its stack that each core has used, and how many it has.
    pub stacks: Vec<(usize, usize)>,
    /// The card in one line: controller, card, mode, volume.
    pub card: Option<String>,
}

/// More cores than any machine of this kind has.
pub const MAX_CORES: usize = 4;

/// What one core counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoreCounts {
    /// Cycles of its own clock.
    pub cycles: u64,
    /// Instructions, modulo 2³².
    pub instructions: u32,
    /// Lines brought into the L1 data cache, modulo 2³².
    pub l1d_refills: u32,
    /// Lines brought into the shared L2 cache, modulo 2³².
    pub l2_refills: u32,
    /// Loads and stores, modulo 2³².
    pub memory_accesses: u32,
}

/// What happened while something was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    /// How long it took.
    pub nanos: u64,
    /// Interrupts taken inside; anything but 0 voids the measurement.
    pub irqs: u32,
    /// What each core counted, where the machine has counters.
    pub cores: Option<[CoreCounts; MAX_CORES]>,
}

/// What of a model file matters to its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// Pieces, and what they say: a header.
    Pieces,
    /// All of it: it is used, or something in it is no number.
    Whole,
}

/// The machine.
pub trait Platform {
    /// What goes wrong with the card, in one line that says what to do.
    type CardError: fmt::Display;

    /// The serial line.
    fn serial(&self) -> &dyn Serial;
    /// A clock that never goes back.
    fn now_us(&self) -> u64;
    /// [`Platform::now_us`], or a clock of its own, that every core can read.
    fn timer(&self) -> Timer;
    /// The first `n` cores, or all of them.
    fn cores(&self, n: Option<usize>) -> &dyn Cores;
    /// Runs `work` while nothing else happens: interrupts are masked, so that no byte moves on the
    /// serial line. `work` itself must not print, allocate or ask the board.
    fn measure(&self, work: &mut dyn FnMut()) -> Window {
        let start = self.now_us();
        work();
        Window {
            nanos: 1000 * self.now_us().saturating_sub(start),
            ..Window::default()
        }
    }
    /// What does not change.
    fn facts(&self) -> &BoardFacts;
    /// What changes.
    fn health(&self) -> Health;
    /// Bytes of the heap in use, where that is known.
    fn heap_used_bytes(&self) -> Option<usize> {
        None
    }
    /// The model files on the card.
    ///
    /// # Errors
    /// There is no card, or it cannot be read.
    fn models(&self) -> Result<Vec<ModelFile>, Self::CardError>;
    /// Opens a model file and hands it to `read`, once.
    ///
    /// # Errors
    /// There is no such file, or the card failed, whatever `read` made of that; or `read` has returned
    /// [`Concern::Whole`] and the file is not what its checksum says.
    fn read_model(
        &self,
        name: &str,
        read: &mut dyn FnMut(&mut dyn ModelSource) -> Concern,
    ) -> Result<(), Self::CardError>;
    /// The text of `pilm.txt`, if the card has one.
    ///
    /// # Errors
    /// It cannot be read, or is no text.
    fn options_file(&self) -> Result<Option<String>, Self::CardError>;
    /// A file of the card's root directory, whole; `None` if there is no such file.
    ///
    /// # Errors
    /// It cannot be read, or has more than `limit_bytes`.
    fn text_file(&self, name: &str, limit_bytes: usize)
    -> Result<Option<Vec<u8>>, Self::CardError>;
    /// The words that the kernel was started with.
    fn command_line(&self) -> &str;
    /// Changes the speed of the serial line; whether it could.
    fn set_baud(&self, baud: u32) -> bool {
        let _ = baud;
        false
    }
    /// Makes memory that the session was given read-only, or writable again. A machine without such
    /// rights does nothing.
    fn set_read_only(&self, addresses: core::ops::Range<usize>, read_only: bool) {
        let _ = (addresses, read_only);
    }
    /// A number that nobody chose.
    fn entropy(&self) -> u64;
    /// Received bytes that the hardware or its buffer has lost since the start.
    fn lost_bytes(&self) -> u32 {
        0
    }
    /// Interrupts taken since the start: the same before and after a measurement, or it is void.
    fn irqs_taken(&self) -> u32 {
        0
    }
    /// Says where the work stands.
    fn mark(&self, phase: Phase) {
        let _ = phase;
    }
}
