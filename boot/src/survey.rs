//! What is known about RAM before any of it is used, from all who know something. Pure.

use core::ops::Range;

use crate::device_tree::MemoryNodes;
use crate::ram::{self, Ranges};

/// If neither mailbox nor device tree answers: every Pi 4 has this much with any `gpu_mem`.
const CERTAIN_RAM: Range<u64> = 0..0x1000_0000;

/// What is known about RAM.
#[derive(Clone, Debug)]
pub struct Survey {
    /// RAM that exists and is the ARM's.
    pub ram: Ranges,
    /// The part that the firmware keeps.
    pub reserved: Ranges,
}

impl Survey {
    /// Puts together what the device tree, the mailbox (`low`: the ARM's part below 1 GiB) and the board's revision
    /// say. The revision names the size; where it cannot, as for 3 GB, the tree does.
    pub fn new(
        tree: Option<&MemoryNodes>,
        low: Option<Range<u64>>,
        revision: Option<u32>,
        emulated: bool,
    ) -> Self {
        let total = revision.and_then(ram::total_bytes_of_revision);
        let total = total.or(tree.map(MemoryNodes::total_bytes));
        let mailbox = low.map_or(Ranges::EMPTY, |low| ram::from_mailbox(low, total));
        let mut ram = ram::reconcile(tree.map(|tree| &tree.ram), &mailbox, emulated);
        if ram.is_empty() {
            ram.add(CERTAIN_RAM);
        }
        let reserved = tree.map_or(Ranges::EMPTY, |tree| tree.reserved);
        Self { ram, reserved }
    }

    /// Gives out, in blocks of `block_bytes`, what is free behind the image, which ends at `image_end`: `heap_bytes`
    /// below 1 GiB, where all that a device writes by itself must lie, and the rest.
    ///
    /// # Errors
    /// [`TooLittle`] below 1 GiB.
    pub fn plan(
        &self,
        image_end: u64,
        block_bytes: u64,
        heap_bytes: u64,
    ) -> Result<Plan, TooLittle> {
        let mut free = self.ram;
        for range in self.reserved.iter() {
            free.remove(range);
        }
        free.remove(0..image_end.next_multiple_of(block_bytes));
        let mut free = free.aligned(block_bytes);
        let low = free.intersection(&Ranges::from_iter([0..ram::LOW_END]));
        let heap = low
            .iter()
            .find(|range| range.end - range.start >= heap_bytes)
            .map(|range| range.start..range.start + heap_bytes)
            .ok_or(TooLittle {
                largest_bytes: low.largest().end - low.largest().start,
            })?;
        free.remove(heap.clone());
        Ok(Plan { heap, rest: free })
    }
}

/// Who gets which RAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The heap's.
    pub heap: Range<u64>,
    /// What is left.
    pub rest: Ranges,
}

/// There is no room for the heap below 1 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLittle {
    /// Bytes in the longest free range below 1 GiB.
    pub largest_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: Range<u64> = 0..0x3B40_0000;
    /// Of a board of 3 GB: the size has no code.
    const OTHER: u32 = 0xF0_3116;

    fn nodes(ranges: &[Range<u64>], sdram_gbit: Option<u32>) -> MemoryNodes {
        MemoryNodes {
            ram: ranges.iter().cloned().collect(),
            reserved: [0..0x1000].into_iter().collect(),
            emmc2_dma_base: None,
            sdram_gbit,
        }
    }

    fn ram_of(
        tree: Option<&MemoryNodes>,
        low: Option<Range<u64>>,
        revision: Option<u32>,
    ) -> Vec<Range<u64>> {
        Survey::new(tree, low, revision, false).ram.iter().collect()
    }

    #[test]
    fn a_size_without_a_code_is_the_trees() {
        let three = [LOW, ram::LOW_END..0xC000_0000];
        let tree = nodes(&three, Some(24));
        assert_eq!(ram_of(Some(&tree), Some(LOW), Some(OTHER)), three);
        // the size limits a tree that says more
        let more = nodes(&[LOW, ram::LOW_END..0xFC00_0000], Some(24));
        assert_eq!(ram_of(Some(&more), Some(LOW), Some(OTHER)), three);
        // without a size in the tree its ranges are the limit
        let unnamed = nodes(&three, None);
        assert_eq!(ram_of(Some(&unnamed), Some(LOW), Some(OTHER)), three);
        assert_eq!(ram_of(None, Some(LOW), Some(OTHER)), [LOW]);
    }

    #[test]
    fn a_revision_that_names_a_size_counts_before_the_tree() {
        let tree = nodes(&[LOW, ram::LOW_END..0xFC00_0000], Some(64));
        let two = [LOW, ram::LOW_END..0x8000_0000];
        assert_eq!(ram_of(Some(&tree), Some(LOW), Some(0xB0_3115)), two);
    }

    const MB: u64 = 1 << 20;

    fn plan_of(ram: &[Range<u64>], reserved: &[Range<u64>]) -> Result<Plan, TooLittle> {
        let survey = Survey {
            ram: ram.iter().cloned().collect(),
            reserved: reserved.iter().cloned().collect(),
        };
        survey.plan(9 * MB + 4096, 2 * MB, 64 * MB)
    }

    #[test]
    fn the_heap_lies_behind_the_image_and_the_rest_is_what_is_left() {
        let high = ram::LOW_END..0xC000_0000;
        let plan = plan_of(&[0..0x3000_0000, high.clone()], &[0x100..0x200]).unwrap();
        assert_eq!(plan.heap, 10 * MB..74 * MB);
        assert!(plan.rest.iter().eq([74 * MB..0x3000_0000, high]));
        // What is reserved ends up with nobody, in whole blocks.
        let plan = plan_of(&[0..0x3000_0000], &[20 * MB..20 * MB + 1]).unwrap();
        assert_eq!(plan.heap, 22 * MB..86 * MB);
        assert!(
            plan.rest
                .iter()
                .eq([10 * MB..20 * MB, 86 * MB..0x3000_0000])
        );
    }

    #[test]
    fn the_heap_is_below_1_gib_or_nowhere() {
        // free only above
        let high = ram::LOW_END..0xC000_0000;
        let error = plan_of(&[0..42 * MB, high.clone()], &[]);
        assert_eq!(
            error,
            Err(TooLittle {
                largest_bytes: 32 * MB
            })
        );
        // joined across the limit, most of it above
        let across = ram::LOW_END - 16 * MB..0xC000_0000;
        let error = plan_of(&[across], &[]);
        assert_eq!(
            error,
            Err(TooLittle {
                largest_bytes: 16 * MB
            })
        );
        // a short piece first
        let plan = plan_of(&[0..42 * MB, 0x1000_0000..0x2000_0000, high], &[]).unwrap();
        assert_eq!(plan.heap, 0x1000_0000..0x1000_0000 + 64 * MB);
    }

    #[test]
    fn without_any_answer_there_is_what_every_board_has() {
        assert_eq!(ram_of(None, None, None), [CERTAIN_RAM]);
        let tree = nodes(&[0..0x3000_0000], None);
        assert_eq!(ram_of(Some(&tree), None, None), [0..0x3000_0000]);
        let survey = Survey::new(Some(&tree), None, None, false);
        assert_eq!(survey.reserved, tree.reserved);
        assert!(Survey::new(None, None, None, false).reserved.is_empty());
    }
}
