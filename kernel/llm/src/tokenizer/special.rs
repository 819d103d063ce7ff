//! Tokens that are found in the text as a whole, before any splitting.

use alloc::vec::Vec;
use core::ops::Range;

use super::vocabulary::Vocabulary;
use super::{TokenId, TokenKind};

/// Control, unknown and user-defined tokens with a name.
#[derive(Debug)]
pub(super) struct Specials {
    /// In the order of their names' bytes.
    ids: Vec<TokenId>,
    /// Whether a name starts with this byte: of a user-defined token, of any.
    starts: [[bool; 256]; 2],
}

impl Specials {
    pub(super) fn of(vocabulary: &Vocabulary) -> Self {
        let mut ids = Vec::new();
        let mut starts = [[false; 256]; 2];
        for (id, kind, name) in vocabulary.iter() {
            let (Some(&first), TokenKind::Control | TokenKind::Unknown | TokenKind::UserDefined) =
                (name.first(), kind)
            else {
                continue;
            };
            // A name that is no text cannot be in one, and would tear a character apart.
            if core::str::from_utf8(name).is_ok() {
                ids.push(id);
                starts[0][usize::from(first)] |= kind == TokenKind::UserDefined;
                starts[1][usize::from(first)] = true;
            }
        }
        ids.sort_by_key(|id| vocabulary.bytes(*id));
        Specials { ids, starts }
    }

    /// The first special token in `text` and where it stands, the longest where several start. Control
    /// tokens count only with `parse_special`.
    pub(super) fn find(
        &self,
        vocabulary: &Vocabulary,
        text: &str,
        parse_special: bool,
    ) -> Option<(TokenId, Range<usize>)> {
        let starts = &self.starts[usize::from(parse_special)];
        (text.bytes().enumerate())
            .filter(|(_, byte)| starts[usize::from(*byte)])
            .find_map(|(start, _)| {
                let rest = &text.as_bytes()[start..];
                let id = self.longest_prefix(vocabulary, rest, parse_special)?;
                Some((id, start..start + vocabulary.bytes(id).len()))
            })
    }

    fn longest_prefix(
        &self,
        vocabulary: &Vocabulary,
        rest: &[u8],
        parse_special: bool,
    ) -> Option<TokenId> {
        // Every prefix of `rest` sorts before or at `rest`, the longest last; nothing that shares
        // no first byte with it can be one.
        let end = self.ids.partition_point(|id| vocabulary.bytes(*id) <= rest);
        (self.ids[..end].iter().copied().rev())
            .take_while(|id| vocabulary.bytes(*id).first() == rest.first())
            .filter(|id| parse_special || vocabulary.kind(*id) == Some(TokenKind::UserDefined))
            .find(|id| rest.starts_with(vocabulary.bytes(*id)))
    }

    /// The token with exactly this name.
    pub(super) fn by_name(&self, vocabulary: &Vocabulary, wanted: &[u8]) -> Option<TokenId> {
        let found = self
            .ids
            .binary_search_by_key(&wanted, |id| vocabulary.bytes(*id));
        Some(self.ids[found.ok()?])
    }
}
