//! The order in which cells are measured: random, seeded, of a length fixed beforehand.

use alloc::vec::Vec;

/// The first block: run so that caches, clock and allocations settle, and discarded.
pub const WARM_UP_BLOCK: usize = 0;

/// A randomized complete block design: each block has every cell once, in a random order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design {
    /// Seed of the orders.
    pub seed: u64,
    /// Blocks that count, without the warm-up block.
    pub n_blocks: usize,
    /// Cells of a block.
    pub n_cells: usize,
}

/// One turn of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The block; [`WARM_UP_BLOCK`] does not count.
    pub block: usize,
    /// The place within the block.
    pub order: usize,
    /// The cell.
    pub cell: usize,
}

impl Turn {
    /// Whether the turn belongs to the warm-up block.
    pub const fn is_warm_up(&self) -> bool {
        self.block == WARM_UP_BLOCK
    }
}

impl Design {
    /// Returns all turns, the warm-up block included.
    pub const fn n_turns(&self) -> usize {
        (self.n_blocks + 1) * self.n_cells
    }

    /// Returns the turns, in order.
    pub const fn turns(self) -> Turns {
        Turns {
            design: self,
            block: 0,
            order: Vec::new(),
            at: 0,
        }
    }
}

/// The turns of a design.
#[derive(Debug, Clone)]
pub struct Turns {
    design: Design,
    block: usize,
    order: Vec<usize>,
    at: usize,
}

impl Iterator for Turns {
    type Item = Turn;

    fn next(&mut self) -> Option<Turn> {
        if self.block > self.design.n_blocks || self.design.n_cells == 0 {
            return None;
        }
        if self.at == 0 {
            let seed = SplitMix64(self.design.seed).next_u64() ^ self.block as u64;
            self.order = shuffled(self.design.n_cells, seed);
        }
        let turn = Turn {
            block: self.block,
            order: self.at,
            cell: self.order[self.at],
        };
        self.at += 1;
        if self.at == self.design.n_cells {
            self.at = 0;
            self.block += 1;
        }
        Some(turn)
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// Returns the next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Numbers in a random order, the same for the same seed (Fisher and Yates).
pub(crate) fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut random = SplitMix64(seed);
    for last in (1..n).rev() {
        let chosen = random.next_u64() % (last as u64 + 1);
        order.swap(last, chosen as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::{Design, WARM_UP_BLOCK, shuffled};

    #[test]
    fn every_number_once_and_seeds_differ() {
        let mut order = shuffled(20, 1);
        assert_ne!(order, shuffled(20, 2));
        assert_eq!(order, shuffled(20, 1));
        order.sort_unstable();
        assert_eq!(order, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn every_block_has_every_cell_once_and_its_own_order() {
        let design = Design {
            seed: 7,
            n_blocks: 4,
            n_cells: 9,
        };
        let turns: Vec<_> = design.turns().collect();
        assert_eq!(turns.len(), design.n_turns());
        let mut orders = Vec::new();
        for (block, turns) in turns.chunks(9).enumerate() {
            assert!(
                turns
                    .iter()
                    .enumerate()
                    .all(|(at, t)| t.block == block && t.order == at)
            );
            assert!(
                turns
                    .iter()
                    .all(|t| t.is_warm_up() == (block == WARM_UP_BLOCK))
            );
            let order: Vec<_> = turns.iter().map(|t| t.cell).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..9).collect::<Vec<_>>());
            assert!(!orders.contains(&order));
            orders.push(order);
        }
        let empty = Design {
            n_cells: 0,
            ..design
        };
        assert_eq!(empty.turns().next(), None);
    }
}
