//! What a load takes.

/// Microseconds since a moment of its own choice.
pub type Timer = fn() -> u64;

/// What the parts of a load took. They overlap: their sum is no time of anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadTimes {
    /// In the source, on the calling core.
    pub read_us: u64,
    /// Packing rows, all cores together.
    pub pack_us: u64,
    /// Taking the checksum of tensors, all cores together.
    pub checksum_us: u64,
}
