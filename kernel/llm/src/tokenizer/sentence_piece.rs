//! SentencePiece BPE: neighbours merge into the token with the highest score.
//!
//! The text is one piece, with a space put before it. A character without a token becomes its
//! bytes' tokens. Spaces stand for SentencePiece's `▁` (U+2581) throughout: the vocabulary is
//! stored that way, and a `▁` in the text is a space to the model.
//!
//! Resources: Kudo and Richardson 2018, arXiv:1808.06226; the published Llama-2 `tokenizer.json`.

use alloc::collections::BinaryHeap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::TokenId;
use super::vocabulary::Vocabulary;

/// SentencePiece's visible space.
pub(super) const VISIBLE_SPACE: char = '▁';

/// Scores and byte tokens of a SentencePiece tokenizer.
#[derive(Debug)]
pub(super) struct SentencePiece {
    /// Of every token; higher merges first.
    scores: Vec<f32>,
    /// `<0x00>` to `<0xFF>`, where the vocabulary has them.
    byte_tokens: [Option<TokenId>; 256],
    add_space: bool,
}

/// A merge that was possible when it was noted, in the order of doing: highest score, then lowest
/// id of the result, then lowest id on the left (the order of the published merge lists: runs of
/// spaces share one score), then leftmost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    score: Descending,
    /// The token that both make.
    merged: u32,
    left_id: u32,
    left: u32,
    /// Length of both in bytes when noted.
    len: u32,
}

/// A score as an integer whose order is the score's, reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Descending(u32);

impl Descending {
    fn of(score: f32) -> Self {
        let bits = score.to_bits();
        // Positive floats sort as their bits, negative ones the other way round.
        let ascending = if bits >> 31 == 0 {
            bits | 1 << 31
        } else {
            !bits
        };
        Descending(!ascending)
    }
}

/// A stretch of the text: `len` is 0 once it has been merged away.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    start: u32,
    len: u32,
    prev: u32,
    next: u32,
    id: u32,
}

const NONE: u32 = u32::MAX;
/// No token has these bytes.
const NO_TOKEN: u32 = u32::MAX;

impl SentencePiece {
    pub(super) fn new(
        scores: Vec<f32>,
        byte_tokens: [Option<TokenId>; 256],
        add_space: bool,
    ) -> Self {
        SentencePiece {
            scores,
            byte_tokens,
            add_space,
        }
    }

    pub(super) fn adds_space(&self) -> bool {
        self.add_space
    }

    /// Appends the ids of a text that has no special token in it.
    pub(super) fn encode(
        &self,
        vocabulary: &Vocabulary,
        unknown: Option<TokenId>,
        text: &str,
        ids: &mut Vec<TokenId>,
    ) {
        let mut normalised = String::with_capacity(text.len() + 1);
        if self.add_space {
            normalised.push(' ');
        }
        normalised.extend(
            text.chars()
                .map(|c| if c == VISIBLE_SPACE { ' ' } else { c }),
        );
        let mut piece = Piece::of(vocabulary, &self.scores, &normalised);
        piece.merge_all();

        let mut last_unknown = false;
        for symbol in piece.symbols.iter().filter(|symbol| symbol.len > 0) {
            if symbol.id != NO_TOKEN {
                ids.push(TokenId(symbol.id));
                last_unknown = false;
                continue;
            }
            let bytes = piece.bytes(symbol.start, symbol.len);
            let tokens = bytes
                .iter()
                .map(|&byte| self.byte_tokens[usize::from(byte)]);
            if tokens.clone().all(|token| token.is_some()) {
                ids.extend(tokens.flatten());
                last_unknown = false;
            } else if let Some(unknown) = unknown
                && !last_unknown
            {
                // Neighbouring unknown characters are one unknown token.
                ids.push(unknown);
                last_unknown = true;
            }
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.scores.capacity() * size_of::<f32>()
    }
}

/// A text while its symbols merge.
struct Piece<'a> {
    vocabulary: &'a Vocabulary,
    scores: &'a [f32],
    text: &'a [u8],
    symbols: Vec<Symbol>,
    possible: BinaryHeap<Reverse<Candidate>>,
}

impl<'a> Piece<'a> {
    fn of(vocabulary: &'a Vocabulary, scores: &'a [f32], text: &'a str) -> Self {
        let mut symbols: Vec<Symbol> = Vec::with_capacity(text.len());
        for (start, c) in text.char_indices() {
            let place = symbols.len() as u32;
            let id = vocabulary.find(&text.as_bytes()[start..start + c.len_utf8()]);
            symbols.push(Symbol {
                start: start as u32,
                len: c.len_utf8() as u32,
                prev: place.checked_sub(1).unwrap_or(NONE),
                next: place + 1,
                id: id.map_or(NO_TOKEN, |id| id.0),
            });
        }
        if let Some(last) = symbols.last_mut() {
            last.next = NONE;
        }
        Piece {
            vocabulary,
            scores,
            text: text.as_bytes(),
            symbols,
            possible: BinaryHeap::new(),
        }
    }

    fn bytes(&self, start: u32, len: u32) -> &'a [u8] {
        &self.text[start as usize..(start + len) as usize]
    }

    fn merge_all(&mut self) {
        for left in 0..self.symbols.len() as u32 {
            self.propose(left);
        }
        while let Some(Reverse(candidate)) = self.possible.pop() {
            let left = self.symbols[candidate.left as usize];
            if left.len == 0 || left.next == NONE || left.id != candidate.left_id {
                continue;
            }
            let right = self.symbols[left.next as usize];
            if left.len + right.len != candidate.len {
                continue;
            }
            self.merge(candidate.left, candidate.merged);
            if left.prev != NONE {
                self.propose(left.prev);
            }
            self.propose(candidate.left);
        }
    }

    /// Notes the merge of the symbol at `left` with the one after it, if they make a token.
    fn propose(&mut self, left: u32) {
        let first = self.symbols[left as usize];
        if first.next == NONE {
            return;
        }
        let second = self.symbols[first.next as usize];
        if first.id == NO_TOKEN || second.id == NO_TOKEN {
            return;
        }
        let len = first.len + second.len;
        let Some(merged) = self.vocabulary.find(self.bytes(first.start, len)) else {
            return;
        };
        let score = Descending::of(self.scores.get(merged.index()).copied().unwrap_or(f32::MIN));
        self.possible.push(Reverse(Candidate {
            score,
            merged: merged.0,
            left_id: first.id,
            left,
            len,
        }));
    }

    fn merge(&mut self, left: u32, merged: u32) {
        let first = self.symbols[left as usize];
        let second = self.symbols[first.next as usize];
        self.symbols[first.next as usize].len = 0;
        self.symbols[left as usize] = Symbol {
            len: first.len + second.len,
            next: second.next,
            id: merged,
            ..first
        };
        if second.next != NONE {
            self.symbols[second.next as usize].prev = left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_scores_come_first() {
        let mut scores = [-3.0, 2.5, 0.0, -1.5, f32::NEG_INFINITY, 1.0];
        scores.sort_by_key(|&score| Descending::of(score));
        assert_eq!(scores, [2.5, 1.0, 0.0, -1.5, -3.0, f32::NEG_INFINITY]);
    }
}
