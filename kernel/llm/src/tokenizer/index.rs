//! An open-addressing hash index: it finds places in a table that lies elsewhere.
//!
//! A vocabulary of 50 000 strings costs 4 bytes per slot and no copy of any key, where a map of
//! strings would cost an allocation each.

use alloc::vec::Vec;

use super::{Error, TokenId};

const EMPTY: u32 = u32::MAX;

/// Slots that hold indices of another table; at most half of them are taken.
#[derive(Debug)]
pub(super) struct Index {
    slots: Vec<u32>,
}

impl Index {
    /// An index for up to `n` entries.
    pub(super) fn with_room_for(n: usize) -> Result<Self, Error> {
        let n_slots = (n.max(1) * 2).next_power_of_two();
        let mut slots = room_for(n_slots)?;
        slots.resize(n_slots, EMPTY);
        Ok(Index { slots })
    }

    /// The entry with this hash for which `is_it` holds.
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let entry = self.slots[self.slot(hash, is_it)];
        (entry != EMPTY).then_some(entry)
    }

    /// Adds `entry` unless an equal one is there: the first one stays.
    pub(super) fn insert(&mut self, hash: u64, entry: u32, is_it: impl Fn(u32) -> bool) {
        let slot = self.slot(hash, is_it);
        if self.slots[slot] == EMPTY {
            self.slots[slot] = entry;
        }
    }

    /// The slot of the entry, or the empty slot where it would go.
    fn slot(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        // The upper half of a product is the well-mixed one.
        let mut slot = (hash >> 32) as usize & mask;
        while self.slots[slot] != EMPTY && !is_it(self.slots[slot]) {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// A vector with room for `n` elements.
pub(super) fn room_for<T>(n: usize) -> Result<Vec<T>, Error> {
    let bytes = n.saturating_mul(size_of::<T>());
    let mut room = Vec::new();
    let reserved = room.try_reserve_exact(n);
    reserved.map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(room)
}

/// Odd and without pattern: the fraction of the golden ratio in 64 bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_mul(MULTIPLIER);
    product ^ (product >> 32)
}

/// Hash of a string's bytes.
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    let mut last = 0;
    for &byte in tail {
        last = last << 8 | u64::from(byte);
    }
    mix(hash, last).wrapping_mul(MULTIPLIER)
}

/// Hash of an ordered pair of ids.
pub(super) fn hash_pair(left: TokenId, right: TokenId) -> u64 {
    mix(0, u64::from(left.0) << 32 | u64::from(right.0)).wrapping_mul(MULTIPLIER)
}
