//! Which addresses are RAM that we may use. Pure.
//!
//! ```text
//! 0 ─────────────── VideoCore base ── 0x4000_0000 ───────── 0xFC00_0000 ── 0x1_0000_0000 ───
//!   ARM, low            VideoCore        ARM (2 GB and up)     peripherals    ARM (8 GB)
//! ```
//!
//! A device tree says all of it; without one the mailbox gives the low part (it cannot see the rest)
//! and the board revision gives the total. Where both speak, only what both say is used, but for
//! QEMU's device tree, which leaves out the upper part.
//!
//! **Resources**: docs/hardware.md MEM-1, MEM-2; Raspberry Pi documentation, revision codes.

use core::fmt;
use core::ops::Range;

/// End of the addresses behind which the VideoCore's memory and, above 1 GiB, more RAM begin.
pub const LOW_END: u64 = 0x4000_0000;
/// Start of the peripherals: RAM behind it is out of reach.
pub const PERIPHERALS_START: u64 = 0xFC00_0000;
/// End of the peripherals.
pub const PERIPHERALS_END: u64 = 0x1_0000_0000;

/// More ranges than any board has, reserved pieces included.
pub const MAX_RANGES: usize = 24;

/// A few ascending, disjoint ranges of addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ranges {
    ranges: [(u64, u64); MAX_RANGES],
    len: usize,
}

impl Ranges {
    /// No range.
    pub const EMPTY: Ranges = Ranges {
        ranges: [(0, 0); MAX_RANGES],
        len: 0,
    };

    /// The ranges, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + ExactSizeIterator + '_ {
        self.ranges[..self.len]
            .iter()
            .map(|&(start, end)| start..end)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Sum of all lengths.
    pub fn bytes(&self) -> u64 {
        self.iter().map(|range| range.end - range.start).sum()
    }

    /// Adds a range, joining it with what it touches. More than [`MAX_RANGES`] are dropped: memory
    /// that is not known is memory that is not used. What is in use goes by [`Ranges::cover`].
    pub fn add(&mut self, range: Range<u64>) {
        if range.start >= range.end {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        let mut kept = Ranges::EMPTY;
        for old in self.iter() {
            if old.end < start || old.start > end {
                kept.push(old);
            } else {
                start = start.min(old.start);
                end = end.max(old.end);
            }
        }
        kept.push(start..end);
        kept.ranges[..kept.len].sort_unstable();
        *self = kept;
    }

    /// Adds a range, or more: where there is no room for it, the two that are nearest to each other become one. For
    /// memory that must not be used.
    pub fn cover(&mut self, range: Range<u64>) {
        if self.len == MAX_RANGES {
            let gap = |i: &usize| self.ranges[i + 1].0 - self.ranges[*i].1;
            if let Some(i) = (0..MAX_RANGES - 1).min_by_key(gap) {
                self.add(self.ranges[i].1..self.ranges[i + 1].0);
            }
        }
        self.add(range);
    }

    /// Takes a range out.
    pub fn remove(&mut self, range: Range<u64>) {
        let mut kept = Ranges::EMPTY;
        for old in self.iter() {
            kept.push(old.start..old.end.min(range.start).max(old.start));
            kept.push(old.start.max(range.end).min(old.end)..old.end);
        }
        if range.start < range.end {
            *self = kept;
        }
    }

    /// What both have.
    pub fn intersection(&self, other: &Ranges) -> Ranges {
        let mut both = Ranges::EMPTY;
        for a in self.iter() {
            for b in other.iter() {
                both.add(a.start.max(b.start)..a.end.min(b.end));
            }
        }
        both
    }

    /// Whole multiples of `bytes` inside each range.
    pub fn aligned(&self, bytes: u64) -> Ranges {
        let mut whole = Ranges::EMPTY;
        for range in self.iter() {
            let start = range.start.next_multiple_of(bytes);
            whole.push(start..(range.end / bytes * bytes).max(start));
        }
        whole
    }

    /// The longest range, or an empty one.
    pub fn largest(&self) -> Range<u64> {
        self.iter()
            .max_by_key(|range| range.end - range.start)
            .unwrap_or(0..0)
    }

    fn push(&mut self, range: Range<u64>) {
        if range.start < range.end && self.len < MAX_RANGES {
            self.ranges[self.len] = (range.start, range.end);
            self.len += 1;
        }
    }
}

impl FromIterator<Range<u64>> for Ranges {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(iter: I) -> Self {
        let mut ranges = Ranges::EMPTY;
        iter.into_iter().for_each(|range| ranges.add(range));
        ranges
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{:#x}-{:#x}", range.start, range.end - 1)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

/// More RAM than this no board with a BCM2711 has.
pub const MAX_TOTAL: u64 = 8 << 30;

/// Bytes of RAM that a board revision stands for; nothing for the old numbering, which no Pi 4 has,
/// and for sizes that are no power of two (code 7: the device tree says which) or not known yet.
pub const fn total_bytes_of_revision(revision: u32) -> Option<u64> {
    let new_style = revision & (1 << 23) != 0;
    match revision >> 20 & 0b111 {
        code @ 0..=5 if new_style => Some((256 << 20) << code),
        _ => None,
    }
}

/// What the mailbox (`low`: base and size of the ARM's part below 1 GiB) and the board's size say.
///
/// Without a size only the low part is used.
pub fn from_mailbox(low: Range<u64>, total_bytes: Option<u64>) -> Ranges {
    let mut ram = Ranges::EMPTY;
    ram.add(low.start..low.end.min(LOW_END));
    if let Some(total) = total_bytes {
        let total = total.min(MAX_TOTAL);
        ram.add(LOW_END..total.min(PERIPHERALS_START));
        ram.add(PERIPHERALS_END..total);
    }
    ram
}

/// What is used, where a device tree (`tree`) says something besides the mailbox.
pub fn reconcile(tree: Option<&Ranges>, mailbox: &Ranges, emulated: bool) -> Ranges {
    let mut ram = match tree {
        Some(tree) if !tree.is_empty() && !emulated => {
            let both = tree.intersection(mailbox);
            let possible = Ranges::from_iter([0..MAX_TOTAL]);
            if mailbox.is_empty() {
                tree.intersection(&possible)
            } else {
                both
            }
        }
        _ => *mailbox,
    };
    ram.remove(PERIPHERALS_START..PERIPHERALS_END);
    ram
}

#[cfg(test)]
mod tests;
