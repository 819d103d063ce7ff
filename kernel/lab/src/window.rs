//! One measurement, raw: what was read before, within and after it.

use alloc::vec::Vec;

/// The raw facts of one measurement. `None` is what nobody asked or nobody can know, never a zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Window {
    /// What it took.
    pub ns: u64,
    /// What each token or sample took; may be empty.
    pub token_ns: Vec<u64>,
    /// Cycles of the core's counter.
    pub cycles: Option<u64>,
    /// Whether a counter overflowed.
    pub pmu_overflow: Option<bool>,
    /// Interrupts that were taken.
    pub irqs: Option<u32>,
    /// Bytes that moved on the serial line.
    pub uart_bytes: Option<u64>,
    /// Growth of the heap.
    pub heap_growth_bytes: Option<i64>,
    /// The model's position before the work.
    pub pos_before: Option<usize>,
    /// Tokens that were kept from before.
    pub reused_tokens: Option<usize>,
    /// Cores that worked.
    pub cores: usize,
    /// Temperature before and after.
    pub celsius: [Option<f32>; 2],
    /// The firmware's throttle flags before and after.
    pub throttled: [Option<u32>; 2],
    /// CRC-32C of the last logits.
    pub logits_crc: Option<u32>,
    /// Whether the window belongs to the warm-up.
    pub is_warm_up: bool,
}

impl Window {
    /// Returns the clock of this window: its cycles over its time.
    pub fn clock_hz(&self) -> Option<u64> {
        let cycles = self.cycles?;
        (self.ns > 0).then(|| (cycles as f64 * 1e9 / self.ns as f64 + 0.5) as u64)
    }
}

/// What a window is judged against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    /// Position of the model before the work.
    pub pos: usize,
    /// Tokens that may be kept from before.
    pub reused: usize,
    /// Cores that were asked for.
    pub cores: usize,
    /// The clock that was asked for.
    pub clock_hz: Option<u64>,
    /// The first run's CRC-32C of the last logits.
    pub logits_crc: Option<u32>,
}
