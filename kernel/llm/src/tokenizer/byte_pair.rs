//! Byte-level BPE: pairs of neighbours merge, lowest rank first.
//!
//! Merges are held by the ids of their halves, 12 bytes each, and found by a hash of the two.
//!
//! Resources: Sennrich et al. 2016, arXiv:1508.07909.

use alloc::vec::Vec;

use super::index::{Index, hash_pair, room_for};
use super::vocabulary::Vocabulary;
use super::word::Word;
use super::{Error, TokenId};

/// Two neighbours and what they become. Its rank is its place in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merge {
    pub(super) left: TokenId,
    pub(super) right: TokenId,
    pub(super) merged: TokenId,
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
        Ok(Merges {
            by_rank: room_for(n)?,
            by_pair: Index::with_room_for(n)?,
            byte_tokens: core::array::from_fn(|byte| vocabulary.find(&[byte as u8])),
            whole_pieces,
        })
    }

    /// Adds the merge of the next rank. A pair that is there already keeps its lower rank.
    pub(super) fn push(&mut self, merge: Merge) {
        let Merge { left, right, .. } = merge;
        let rank = self.by_rank.len() as u32;
        self.by_rank.push(merge);
        let by_rank = &self.by_rank;
        self.by_pair.insert(hash_pair(left, right), rank, |other| {
            let other = by_rank[other as usize];
            (other.left, other.right) == (left, right)
        });
    }

    /// Rank of the merge of two neighbours, and what they become.
    fn find(&self, left: TokenId, right: TokenId) -> Option<(u32, TokenId)> {
        let rank = self.by_pair.find(hash_pair(left, right), |rank| {
            let merge = self.by_rank[rank as usize];
            (merge.left, merge.right) == (left, right)
        })?;
        Some((rank, self.by_rank[rank as usize].merged))
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
        let bytes = piece
            .iter()
            .map(|&byte| self.byte_tokens[usize::from(byte)]);
        let known = bytes.filter(Option::is_some);
        let merged = word.merge(known, piece.len(), |left, right| self.find(left, right));
        ids.extend(merged.filter_map(|(_, id)| id));
    }
}
