//! Byte-level BPE: pairs of neighbours merge, lowest rank first.
//!
//! Merges are held by the ids of their halves, 12 bytes each, and found by a hash of the two. A
//! piece is a linked list of symbols and a heap of the merges that are possible now, so that a
//! piece of n bytes costs n log n, however long it is.
//!
//! Resources: Sennrich et al. 2016, arXiv:1508.07909.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::index::{Index, hash_pair};
use super::vocabulary::Vocabulary;
use super::{Error, TokenId};

/// Two neighbours and what they become. Its rank is its place in the table.
#[derive(Clone, Copy, Debug)]
struct Merge {
    left: u32,
    right: u32,
    merged: u32,
}

/// The merges of a tokenizer.
#[derive(Debug)]
pub(super) struct Merges {
    by_rank: Vec<Merge>,
    by_pair: Index,
    /// The token of each single byte; some vocabularies lack some.
    byte_tokens: [Option<TokenId>; 256],
    /// A piece that is a token as a whole is taken as it is (Llama 3).
    whole_pieces: bool,
}

impl Merges {
    /// A table with room for `n` merges.
    pub(super) fn with_room_for(
        n: usize,
        vocabulary: &Vocabulary,
        whole_pieces: bool,
    ) -> Result<Self, Error> {
        let mut by_rank = Vec::new();
        by_rank
            .try_reserve_exact(n)
            .map_err(|_| Error::OutOfMemory {
                bytes: n * size_of::<Merge>(),
            })?;
        let by_pair = Index::with_room_for(n)?;
        let byte_tokens = core::array::from_fn(|byte| vocabulary.find(&[byte as u8]));
        Ok(Merges {
            by_rank,
            by_pair,
            byte_tokens,
            whole_pieces,
        })
    }

    /// Adds the merge of the next rank. A pair that is there already keeps its lower rank.
    pub(super) fn push(&mut self, left: TokenId, right: TokenId, merged: TokenId) {
        let rank = self.by_rank.len() as u32;
        self.by_rank.push(Merge {
            left: left.0,
            right: right.0,
            merged: merged.0,
        });
        let by_rank = &self.by_rank;
        self.by_pair
            .insert(hash_pair(left.0, right.0), rank, |other| {
                let other = by_rank[other as usize];
                (other.left, other.right) == (left.0, right.0)
            });
    }

    /// Rank of the merge of two neighbours.
    fn rank(&self, left: u32, right: u32) -> Option<u32> {
        self.by_pair.find(hash_pair(left, right), |rank| {
            let merge = self.by_rank[rank as usize];
            (merge.left, merge.right) == (left, right)
        })
    }

    /// Appends the ids of one piece. `word` is scratch, to be reused from piece to piece.
    ///
    /// A byte that has no token is dropped, and its neighbours become neighbours of each other.
    pub(super) fn encode_piece(
        &self,
        vocabulary: &Vocabulary,
        piece: &[u8],
        word: &mut Word,
        ids: &mut Vec<TokenId>,
    ) {
        if self.whole_pieces
            && let Some(id) = vocabulary.find(piece)
        {
            ids.push(id);
            return;
        }
        word.start(
            piece
                .iter()
                .filter_map(|&byte| self.byte_tokens[usize::from(byte)]),
        );
        for left in 0..word.symbols.len().saturating_sub(1) {
            self.propose(word, left as u32);
        }
        while let Some(Reverse((rank, left))) = word.possible.pop() {
            let merge = self.by_rank[rank as usize];
            if word.pair(left) != Some((merge.left, merge.right)) {
                continue;
            }
            word.merge(left, merge.merged);
            let before = word.symbols[left as usize].prev;
            if before != NONE {
                self.propose(word, before);
            }
            self.propose(word, left);
        }
        ids.extend(word.ids());
    }

    /// Notes the merge of the symbol at `left` with the one after it, if there is one.
    fn propose(&self, word: &mut Word, left: u32) {
        if let Some((first, second)) = word.pair(left)
            && let Some(rank) = self.rank(first, second)
        {
            word.possible.push(Reverse((rank, left)));
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.by_rank.capacity() * size_of::<Merge>() + self.by_pair.heap_bytes()
    }
}

/// No symbol on this side.
const NONE: u32 = u32::MAX;
/// A symbol that was merged into the one before it.
const GONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Symbol {
    id: u32,
    prev: u32,
    next: u32,
}

/// A piece while its symbols merge.
#[derive(Debug, Default)]
pub(super) struct Word {
    symbols: Vec<Symbol>,
    /// Rank and place of merges that were possible when they were noted: lowest rank first, then
    /// leftmost.
    possible: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Word {
    fn start(&mut self, ids: impl Iterator<Item = TokenId>) {
        self.symbols.clear();
        self.possible.clear();
        for id in ids {
            let place = self.symbols.len() as u32;
            let prev = place.checked_sub(1).unwrap_or(NONE);
            self.symbols.push(Symbol {
                id: id.0,
                prev,
                next: place + 1,
            });
        }
        if let Some(last) = self.symbols.last_mut() {
            last.next = NONE;
        }
    }

    /// Ids of the symbol at `left` and of the one after it, if both are there.
    fn pair(&self, left: u32) -> Option<(u32, u32)> {
        let first = self.symbols[left as usize];
        if first.id == GONE || first.next == NONE {
            return None;
        }
        Some((first.id, self.symbols[first.next as usize].id))
    }

    /// Makes the symbol at `left` and the one after it into one.
    fn merge(&mut self, left: u32, merged: u32) {
        let right = self.symbols[left as usize].next;
        let after = self.symbols[right as usize].next;
        self.symbols[right as usize].id = GONE;
        self.symbols[left as usize] = Symbol {
            id: merged,
            next: after,
            ..self.symbols[left as usize]
        };
        if after != NONE {
            self.symbols[after as usize].prev = left;
        }
    }

    fn ids(&self) -> impl Iterator<Item = TokenId> {
        self.symbols
            .iter()
            .filter(|symbol| symbol.id != GONE)
            .map(|symbol| TokenId(symbol.id))
    }
}
