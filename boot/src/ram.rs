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
    /// that is not known is memory that is not used.
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

/// Bytes of RAM that a board revision stands for; nothing for the old numbering, which no Pi 4 has.
pub const fn total_bytes_of_revision(revision: u32) -> Option<u64> {
    let new_style = revision & (1 << 23) != 0;
    if new_style {
        Some((256 << 20) << (revision >> 20 & 0b111))
    } else {
        None
    }
}

/// What the mailbox (`low`: base and size of the ARM's part below 1 GiB) and the revision say.
///
/// Without a revision only the low part is used.
pub fn from_mailbox(low: Range<u64>, revision: Option<u32>) -> Ranges {
    let mut ram = Ranges::EMPTY;
    ram.add(low.start..low.end.min(LOW_END));
    if let Some(total) = revision.and_then(total_bytes_of_revision) {
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
            if mailbox.is_empty() { *tree } else { both }
        }
        _ => *mailbox,
    };
    ram.remove(PERIPHERALS_START..PERIPHERALS_END);
    ram
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn list(ranges: &Ranges) -> Vec<Range<u64>> {
        ranges.iter().collect()
    }

    #[test]
    fn each_model_gets_its_ranges() {
        let low = 0..0x3B40_0000;
        // revisions of 1, 2, 4 and 8 GB boards
        let cases = [
            (0xA0_3111, vec![0..0x3B40_0000]),
            (0xB0_3115, vec![0..0x3B40_0000, LOW_END..0x8000_0000]),
            (0xC0_3114, vec![0..0x3B40_0000, LOW_END..PERIPHERALS_START]),
            (
                0xD0_3114,
                vec![
                    0..0x3B40_0000,
                    LOW_END..PERIPHERALS_START,
                    PERIPHERALS_END..0x2_0000_0000,
                ],
            ),
        ];
        for (revision, expected) in cases {
            let ram = from_mailbox(low.clone(), Some(revision));
            assert_eq!(list(&ram), expected, "{revision:#x}");
        }
        assert_eq!(from_mailbox(low.clone(), None).largest(), low);
    }

    #[test]
    fn gpu_memory_is_never_ours() {
        let ram = from_mailbox(0..0x3C00_0000, Some(0xC0_3114));
        assert!(
            ram.iter()
                .all(|range| range.end <= 0x3C00_0000 || range.start >= LOW_END)
        );
        let ram = from_mailbox(0..0x4800_0000, Some(0xA0_3111));
        assert_eq!(ram.largest().end, LOW_END);
    }

    #[test]
    fn only_what_both_say_is_used() {
        let mailbox = from_mailbox(0..0x3B40_0000, Some(0xC0_3114));
        let tree: Ranges = [0..0x3800_0000, LOW_END..0x1_0000_0000]
            .into_iter()
            .collect();
        assert_eq!(
            list(&reconcile(Some(&tree), &mailbox, false)),
            [0..0x3800_0000, LOW_END..PERIPHERALS_START]
        );
        assert_eq!(reconcile(None, &mailbox, false), mailbox);
        assert_eq!(reconcile(Some(&Ranges::EMPTY), &mailbox, false), mailbox);
        // no answer from the mailbox
        assert_eq!(
            list(&reconcile(Some(&tree), &Ranges::EMPTY, false)),
            [0..0x3800_0000, LOW_END..PERIPHERALS_START]
        );
    }

    #[test]
    fn the_emulators_short_tree_is_not_believed() {
        let mailbox = from_mailbox(0..0x3C00_0000, Some(0xB0_3115));
        let tree = from_mailbox(0..0x3C00_0000, None);
        assert_eq!(reconcile(Some(&tree), &mailbox, true), mailbox);
    }

    #[test]
    fn ranges_join_split_and_align() {
        let mut ranges: Ranges = [4 * MB..8 * MB, 0..2 * MB, 2 * MB..3 * MB]
            .into_iter()
            .collect();
        assert_eq!(list(&ranges), [0..3 * MB, 4 * MB..8 * MB]);
        ranges.remove(5 * MB..5 * MB + 1);
        assert_eq!(
            list(&ranges),
            [0..3 * MB, 4 * MB..5 * MB, 5 * MB + 1..8 * MB]
        );
        ranges.remove(0..4 * MB + 1);
        assert_eq!(ranges.aligned(2 * MB).largest(), 6 * MB..8 * MB);
        assert_eq!(ranges.largest(), 5 * MB + 1..8 * MB);
        assert_eq!(ranges.bytes(), 4 * MB - 2);
        let before = ranges;
        ranges.remove(6 * MB..6 * MB);
        assert_eq!(ranges, before);
    }
}
