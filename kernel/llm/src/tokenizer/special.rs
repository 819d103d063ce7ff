//! Tokens that are found in the text as a whole, before any splitting.

use alloc::vec::Vec;

use super::vocabulary::Vocabulary;
use super::{TokenId, TokenKind};

/// A special token in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: TokenId,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Control, unknown and user-defined tokens with a name.
#[derive(Debug)]
pub(super) struct Specials {
    /// In the order of their names' bytes.
    ids: Vec<TokenId>,
    /// Whether a user-defined name starts with this byte.
    starts_user: [bool; 256],
    /// Whether any name starts with this byte.
    starts_any: [bool; 256],
}

impl Specials {
    pub(super) fn of(vocabulary: &Vocabulary) -> Self {
        let mut specials = Specials {
            ids: Vec::new(),
            starts_user: [false; 256],
            starts_any: [false; 256],
        };
        for (id, kind, name) in vocabulary.iter() {
            let (Some(&first), TokenKind::Control | TokenKind::Unknown | TokenKind::UserDefined) =
                (name.first(), kind)
            else {
                continue;
            };
            // A name that is no text cannot be in one, and would tear a character apart.
            if core::str::from_utf8(name).is_err() {
                continue;
            }
            specials.ids.push(id);
            specials.starts_any[usize::from(first)] = true;
            specials.starts_user[usize::from(first)] |= kind == TokenKind::UserDefined;
        }
        let name = |id: &TokenId| vocabulary.bytes(*id).unwrap_or_default();
        specials.ids.sort_by(|a, b| name(a).cmp(name(b)));
        specials
    }

    /// The first special token in `text`, the longest where several start. Control tokens count
    /// only with `parse_special`.
    pub(super) fn find(
        &self,
        vocabulary: &Vocabulary,
        text: &str,
        parse_special: bool,
    ) -> Option<Found> {
        let starts = if parse_special {
            &self.starts_any
        } else {
            &self.starts_user
        };
        text.bytes()
            .enumerate()
            .filter(|(_, byte)| starts[usize::from(*byte)])
            .find_map(|(start, _)| {
                let rest = &text.as_bytes()[start..];
                self.longest_prefix(vocabulary, rest, parse_special)
                    .map(|(id, len)| Found {
                        id,
                        start,
                        end: start + len,
                    })
            })
    }

    fn longest_prefix(
        &self,
        vocabulary: &Vocabulary,
        rest: &[u8],
        parse_special: bool,
    ) -> Option<(TokenId, usize)> {
        let name = |id: &TokenId| vocabulary.bytes(*id).unwrap_or_default();
        // Every prefix of `rest` sorts before or at `rest`, the longest last; nothing that shares
        // no first byte with it can be one.
        let end = self.ids.partition_point(|id| name(id) <= rest);
        self.ids[..end]
            .iter()
            .rev()
            .take_while(|id| name(id).first() == rest.first())
            .filter(|id| parse_special || vocabulary.kind(**id) == Some(TokenKind::UserDefined))
            .find(|id| rest.starts_with(name(id)))
            .map(|id| (*id, name(id).len()))
    }

    /// The token with exactly this name.
    pub(super) fn by_name(&self, vocabulary: &Vocabulary, wanted: &[u8]) -> Option<TokenId> {
        let name = |id: &TokenId| vocabulary.bytes(*id).unwrap_or_default();
        let found = self.ids.binary_search_by(|id| name(id).cmp(wanted)).ok()?;
        Some(self.ids[found])
    }
}
