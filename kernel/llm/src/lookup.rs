//! Guessing what comes next from what has been (prompt lookup decoding, Saxena 2023): when the last
//! few tokens have occurred before, what followed them then may follow now.
//!
//! A guess costs nothing but its check, and the check is exact: see
//! [`Engine::decode_guessing`](crate::engine::Engine::decode_guessing).

use crate::tokenizer::TokenId;

/// How guesses are made, and how they fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Longest run of tokens that is looked for.
    pub longest: usize,
    /// Shortest run that is trusted.
    pub shortest: usize,
    /// Most tokens that are guessed; 0 guesses nothing.
    pub guess: usize,
    /// Passes run with a guess.
    pub n_guesses: u64,
    /// Tokens guessed.
    pub n_guessed: u64,
    /// Tokens confirmed: passes that were not needed.
    pub n_confirmed: u64,
}

impl Default for Lookup {
    fn default() -> Self {
        Lookup {
            longest: 4,
            shortest: 2,
            guess: Lookup::MAX_GUESS,
            n_guesses: 0,
            n_guessed: 0,
            n_confirmed: 0,
        }
    }
}

impl Lookup {
    /// The most tokens that a pass of the default
    /// [`LoadOptions`](crate::engine::LoadOptions) can check beside its first: two tiles of four in all.
    pub const MAX_GUESS: usize = 7;

    /// The tokens that followed the latest earlier occurrence of the longest run that ends `context`,
    /// over and over where they reach the end of `context`; none when no run of at least `shortest`
    /// tokens has occurred before.
    pub fn guess<'c>(&self, context: &'c [TokenId]) -> impl Iterator<Item = TokenId> + use<'c> {
        let followed = if self.guess == 0 {
            &[]
        } else {
            self.after_earlier(context)
        };
        followed.iter().copied().cycle().take(self.guess)
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

    /// Counts a pass that checks a guess of `n` tokens.
    pub(crate) fn count_guess(&mut self, n: usize) {
        if n > 0 {
            self.n_guesses += 1;
            self.n_guessed += n as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[u32]) -> alloc::vec::Vec<TokenId> {
        ids.iter().map(|&id| TokenId(id)).collect()
    }

    fn guess(lookup: &Lookup, context: &[TokenId]) -> alloc::vec::Vec<TokenId> {
        lookup.guess(context).collect()
    }

    #[test]
    fn the_longest_run_wins_then_the_latest() {
        let lookup = Lookup {
            longest: 3,
            shortest: 1,
            guess: 2,
            ..Lookup::default()
        };
        let context = ids(&[1, 2, 3, 10, 11, 12, 9, 3, 20, 21, 1, 2, 3]);
        assert_eq!(guess(&lookup, &context), ids(&[10, 11]));
        let context = ids(&[5, 1, 6, 7, 5, 2, 8, 5]);
        assert_eq!(guess(&lookup, &context), ids(&[2, 8]));
    }

    #[test]
    fn a_run_that_repeats_guesses_its_continuation() {
        let lookup = Lookup {
            longest: 2,
            shortest: 2,
            guess: 4,
            ..Lookup::default()
        };
        assert_eq!(guess(&lookup, &ids(&[7, 7, 7])), ids(&[7, 7, 7, 7]));
        assert_eq!(guess(&lookup, &ids(&[1, 2, 1, 2])), ids(&[1, 2, 1, 2]));
        let context = ids(&[1, 2, 3, 1, 2]);
        assert_eq!(guess(&lookup, &context), ids(&[3, 1, 2, 3]));
    }

    #[test]
    fn no_guess_is_longer_than_allowed() {
        let context = ids(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]);
        for most in 0..=Lookup::MAX_GUESS {
            let lookup = Lookup {
                guess: most,
                ..Lookup::default()
            };
            assert_eq!(guess(&lookup, &context).len(), most);
        }
    }

    #[test]
    fn nothing_is_guessed_from_what_is_new() {
        let lookup = Lookup::default();
        for context in [&[][..], &[1], &[1, 2, 3, 4, 3]] {
            assert!(guess(&lookup, &ids(context)).is_empty(), "{context:?}");
        }
    }
}
