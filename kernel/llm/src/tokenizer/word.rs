//! A text while its neighbours merge, the merge of the lowest rank first.
//!
//! The symbols are a linked list, and the merges that are possible now a heap, so that a text of n
//! symbols costs n log n, however long it is.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::TokenId;

/// No symbol on this side.
const NONE: u32 = u32::MAX;

/// A stretch of the text.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    /// Its token; none when it has none, or was merged into the symbol before it.
    id: Option<TokenId>,
    prev: u32,
    next: u32,
}

/// A merge that was possible when it was noted, in the order of doing: lowest rank, then lowest id of
/// the result, then lowest id on the left (the order of the published merge lists of SentencePiece:
/// runs of spaces share one score), then leftmost. A rank of byte pairs has one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rank: u32,
    merged: TokenId,
    first: TokenId,
    left: u32,
    second: TokenId,
}

/// Symbols in the order of the text. It can be used again for the next text.
#[derive(Debug, Default)]
pub(super) struct Word {
    symbols: Vec<Symbol>,
    possible: BinaryHeap<Reverse<Candidate>>,
}

impl Word {
    /// Merges the symbols `ids`, at most `most`, where `rule` has a rank and a token for two neighbors.
    /// Returns what is left, each with the place of its first symbol in `ids`.
    pub(super) fn merge(
        &mut self,
        ids: impl Iterator<Item = Option<TokenId>>,
        most: usize,
        mut rule: impl FnMut(TokenId, TokenId) -> Option<(u32, TokenId)>,
    ) -> impl Iterator<Item = (usize, Option<TokenId>)> {
        self.symbols.clear();
        self.symbols.reserve_exact(most);
        self.symbols
            .extend(ids.zip(0u32..).map(|(id, place)| Symbol {
                id,
                prev: place.checked_sub(1).unwrap_or(NONE),
                next: place + 1,
            }));
        if let Some(last) = self.symbols.last_mut() {
            last.next = NONE;
        }
        for left in 0..self.symbols.len() as u32 {
            self.propose(left, &mut rule);
        }
        while let Some(Reverse(candidate)) = self.possible.pop() {
            let Candidate { left, merged, .. } = candidate;
            if self.pair(left) == Some((candidate.first, candidate.second)) {
                self.merge_at(left, merged);
                self.propose(self.symbols[left as usize].prev, &mut rule);
                self.propose(left, &mut rule);
            }
        }
        let first = (!self.symbols.is_empty()).then_some(0);
        let next = |place: &usize| match self.symbols[*place].next {
            NONE => None,
            next => Some(next as usize),
        };
        core::iter::successors(first, next).map(|place| (place, self.symbols[place].id))
    }

    /// The tokens of the symbol at `left` and of the one after it, if both are there.
    fn pair(&self, left: u32) -> Option<(TokenId, TokenId)> {
        let first = self.symbols.get(left as usize)?;
        let second = self.symbols.get(first.next as usize)?;
        first.id.zip(second.id)
    }

    /// Notes the merge of the symbol at `left` with the one after it, if they make a token.
    fn propose(
        &mut self,
        left: u32,
        rule: &mut impl FnMut(TokenId, TokenId) -> Option<(u32, TokenId)>,
    ) {
        if let Some((first, second)) = self.pair(left)
            && let Some((rank, merged)) = rule(first, second)
        {
            self.possible.push(Reverse(Candidate {
                rank,
                merged,
                first,
                left,
                second,
            }));
        }
    }

    /// Makes the symbol at `left` and the one after it into one.
    fn merge_at(&mut self, left: u32, merged: TokenId) {
        let right = self.symbols[left as usize].next as usize;
        let after = self.symbols[right].next;
        self.symbols[right].id = None;
        self.symbols[left as usize].id = Some(merged);
        self.symbols[left as usize].next = after;
        if let Some(after) = self.symbols.get_mut(after as usize) {
            after.prev = left;
        }
    }
}
