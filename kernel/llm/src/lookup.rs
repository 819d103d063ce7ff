//! Drafts of what comes next from what has been (prompt lookup decoding, Saxena 2023): when the last
//! few tokens have occurred before, what followed them then may follow now.
//!
//! A draft costs nothing but its check, and the check is exact: see
//! [`Engine::decode_speculating`](crate::engine::Engine::decode_speculating).

use crate::tokenizer::TokenId;

/// How drafts are made, and how they fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Longest run of tokens that is looked for.
    pub longest: usize,
    /// Shortest run that is trusted.
    pub shortest: usize,
    /// Most tokens of a draft; 0 drafts nothing.
    pub max_draft: usize,
    /// Passes run with a draft.
    pub n_drafts: u64,
    /// Tokens of all drafts.
    pub n_draft_tokens: u64,
    /// Tokens accepted: passes that were not needed.
    pub n_accepted: u64,
}

impl Default for Lookup {
    fn default() -> Self {
        Lookup {
            longest: 4,
            shortest: 2,
            max_draft: Lookup::MAX_DRAFT,
            n_drafts: 0,
            n_draft_tokens: 0,
            n_accepted: 0,
        }
    }
}

impl Lookup {
    /// The most tokens that a pass of the default
    /// [`LoadOptions`](crate::engine::LoadOptions) can check beside its first: two tiles of four in all.
    pub const MAX_DRAFT: usize = 7;

    /// The tokens that followed the latest earlier occurrence of the longest run that ends `context`,
    /// over and over where they reach the end of `context`; none when no run of at least `shortest`
    /// tokens has occurred before.
    pub fn draft<'c>(&self, context: &'c [TokenId]) -> impl Iterator<Item = TokenId> + use<'c> {
        let followed = if self.max_draft == 0 {
            &[]
        } else {
            self.after_earlier(context)
        };
        followed.iter().copied().cycle().take(self.max_draft)
    }

    /// All that followed the earlier occurrence.
    fn after_earlier<'c>(&self, context: &'c [TokenId]) -> &'c [TokenId] {
        for len in (self.shortest.max(1)..=self.longest).rev() {
            let Some(before) = context.len().checked_sub(len) else {
                continue;
            };
            let run = &context[before..];
            let earlier = (0..before).rev().find(|&at| &context[at..at + len] == run);
            if let Some(at) = earlier {
                return &context[at + len..];
            }
        }
        &[]
    }

    /// Counts a pass that checks a draft of `n` tokens.
    pub(crate) fn count_draft(&mut self, n: usize) {
        if n > 0 {
            self.n_drafts += 1;
            self.n_draft_tokens += n as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[u32]) -> alloc::vec::Vec<TokenId> {
        ids.iter().map(|&id| TokenId(id)).collect()
    }

    fn draft(lookup: &Lookup, context: &[TokenId]) -> alloc::vec::Vec<TokenId> {
        lookup.draft(context).collect()
    }

    #[test]
    fn the_longest_run_wins_then_the_latest() {
        let lookup = Lookup {
            longest: 3,
            shortest: 1,
            max_draft: 2,
            ..Lookup::default()
        };
        let context = ids(&[1, 2, 3, 10, 11, 12, 9, 3, 20, 21, 1, 2, 3]);
        assert_eq!(draft(&lookup, &context), ids(&[10, 11]));
        let context = ids(&[5, 1, 6, 7, 5, 2, 8, 5]);
        assert_eq!(draft(&lookup, &context), ids(&[2, 8]));
    }

    #[test]
    fn a_run_that_repeats_drafts_its_continuation() {
        let lookup = Lookup {
            longest: 2,
            shortest: 2,
            max_draft: 4,
            ..Lookup::default()
        };
        assert_eq!(draft(&lookup, &ids(&[7, 7, 7])), ids(&[7, 7, 7, 7]));
        assert_eq!(draft(&lookup, &ids(&[1, 2, 1, 2])), ids(&[1, 2, 1, 2]));
        let context = ids(&[1, 2, 3, 1, 2]);
        assert_eq!(draft(&lookup, &context), ids(&[3, 1, 2, 3]));
    }

    #[test]
    fn no_draft_is_longer_than_allowed() {
        let context = ids(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]);
        for most in 0..=Lookup::MAX_DRAFT {
            let lookup = Lookup {
                max_draft: most,
                ..Lookup::default()
            };
            assert_eq!(draft(&lookup, &context).len(), most);
        }
    }

    #[test]
    fn nothing_is_drafted_from_what_is_new() {
        let lookup = Lookup::default();
        for context in [&[][..], &[1], &[1, 2, 3, 4, 3]] {
            assert!(draft(&lookup, &ids(context)).is_empty(), "{context:?}");
        }
    }
}
