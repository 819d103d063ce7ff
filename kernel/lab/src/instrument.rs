//! What measures: one cell, one window.

use crate::window::Window;
use alloc::borrow::Cow;
use core::fmt;
use protocol::settings::KernelSet;

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// A prompt is worked in.
    Prefill,
    /// Tokens are generated.
    Decode,
}

impl Work {
    /// Returns the name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}

/// One configuration that is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// What is timed.
    pub work: Work,
    /// Type of the matrices as they stand in memory, as "q8_0".
    pub format: Cow<'static, str>,
    /// The kernels.
    pub kernels: KernelSet,
    /// Type of the KV cache.
    pub kv: Cow<'static, str>,
    /// Cores.
    pub cores: usize,
    /// Tokens in the context before.
    pub depth: usize,
    /// Tokens of one window.
    pub tokens: usize,
    /// The core clock to ask for.
    pub clock_hz: Option<u64>,
    /// How the cores' shares lie in memory, where that is varied.
    pub layout: Option<Cow<'static, str>>,
    /// Bytes that one token reads, where that is known.
    pub bytes_per_token: Option<u64>,
}

/// The stable name, as "decode q8_0 int8 4 cores depth 0 kv f16".
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.cores == 1 { "" } else { "s" };
        write!(
            f,
            "{} {} {} {} core{plural} depth {} kv {}",
            self.work.name(),
            self.format,
            self.kernels,
            self.cores,
            self.depth,
            self.kv
        )?;
        if let Some(hz) = self.clock_hz {
            write!(f, " {} MHz", hz / 1_000_000)?;
        }
        self.layout
            .as_ref()
            .map_or(Ok(()), |layout| write!(f, " {layout}"))
    }
}

/// Runs one cell once.
pub trait Instrument {
    /// Why a cell cannot be measured, as "needs 1.45 GB".
    type Error: fmt::Display;

    /// Measures `cell`.
    ///
    /// # Errors
    /// The cell cannot be measured on this machine: it is reported as not measured, with the reason.
    fn measure(&mut self, cell: &Cell, out: &mut Window) -> Result<(), Self::Error>;
}
