//! Every token's bytes in one block, with an index to find them again.

use alloc::vec::Vec;

use super::index::{Index, hash_bytes, room_for};
use super::{Error, TokenId, TokenKind};

/// Tokens by id and by bytes.
#[derive(Debug)]
pub(super) struct Vocabulary {
    /// The decoded bytes of all tokens, one after the other.
    bytes: Vec<u8>,
    /// `ends[i]` is where token `i` ends in `bytes`; it starts where the one before ends.
    ends: Vec<u32>,
    kinds: Vec<TokenKind>,
    /// Normal tokens by their bytes.
    by_bytes: Index,
    max_token_bytes: usize,
}

impl Vocabulary {
    /// An empty vocabulary with room for `n_tokens` of `n_bytes` in all.
    pub(super) fn with_room_for(n_tokens: usize, n_bytes: usize) -> Result<Self, Error> {
        Ok(Vocabulary {
            bytes: room_for(n_bytes)?,
            ends: room_for(n_tokens)?,
            kinds: room_for(n_tokens)?,
            by_bytes: Index::with_room_for(n_tokens)?,
            max_token_bytes: 0,
        })
    }

    /// Adds the next token; `write` appends its bytes.
    pub(super) fn push(&mut self, kind: TokenKind, write: impl FnOnce(&mut Vec<u8>)) {
        let (start, id) = (self.bytes.len(), self.ends.len() as u32);
        write(&mut self.bytes);
        self.ends.push(self.bytes.len() as u32);
        self.kinds.push(kind);
        if kind == TokenKind::Normal {
            let (bytes, ends) = (&self.bytes, &self.ends);
            let new = &bytes[start..];
            self.by_bytes.insert(hash_bytes(new), id, |other| {
                token(bytes, ends, other) == new
            });
            self.max_token_bytes = self.max_token_bytes.max(new.len());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of token `id`; none outside the vocabulary.
    pub(super) fn bytes(&self, id: TokenId) -> &[u8] {
        if id.index() < self.len() {
            token(&self.bytes, &self.ends, id.0)
        } else {
            &[]
        }
    }

    pub(super) fn kind(&self, id: TokenId) -> Option<TokenKind> {
        self.kinds.get(id.index()).copied()
    }

    /// The normal token with these bytes; the lowest id where several have them.
    pub(super) fn find(&self, wanted: &[u8]) -> Option<TokenId> {
        if wanted.len() > self.max_token_bytes {
            return None;
        }
        let is_it = |id| token(&self.bytes, &self.ends, id) == wanted;
        self.by_bytes.find(hash_bytes(wanted), is_it).map(TokenId)
    }

    /// Every token, in the order of the ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TokenId, TokenKind, &[u8])> {
        let ids = (0..).map(TokenId).zip(&self.kinds);
        ids.map(|(id, &kind)| (id, kind, self.bytes(id)))
    }
}

fn token<'a>(bytes: &'a [u8], ends: &[u32], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] as usize };
    &bytes[start..ends[id] as usize]
}
