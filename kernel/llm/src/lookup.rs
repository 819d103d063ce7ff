//! Guessing what comes next from what has been (prompt lookup decoding, Saxena 2023): when the last
//! few tokens have occurred before, what followed them then may follow now.
//!
//! A guess costs nothing but its check, and the check is exact: see
//! [`Engine::decode_with_guess`](crate::engine::Engine::decode_with_guess).

use crate::tokenizer::TokenId;

/// How guesses are made, and how they fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Longest run of tokens that is looked for.
    pub longest: usize,
    /// Shortest run that is trusted.
    pub shortest: usize,
    /// Most tokens that are guessed.
    pub guess: usize,
    /// Batches run with a guess.
    pub n_guesses: u64,
    /// Tokens guessed.
    pub n_guessed: u64,
    /// Tokens confirmed.
    pub n_confirmed: u64,
}

impl Default for Lookup {
    fn default() -> Self {
        Lookup {
            longest: 4,
            shortest: 2,
            guess: 7,
            n_guesses: 0,
            n_guessed: 0,
            n_confirmed: 0,
        }
    }
}

impl Lookup {
    /// The tokens that followed the latest earlier occurrence of the longest run that ends `context`;
    /// none when no run of at least `shortest` tokens has occurred before.
    pub fn guess<'c>(&self, context: &'c [TokenId]) -> &'c [TokenId] {
        for len in (self.shortest.max(1)..=self.longest).rev() {
            let Some(before) = context.len().checked_sub(len) else {
                continue;
            };
            let run = &context[before..];
            let earlier = (0..before).rev().find(|&at| &context[at..at + len] == run);
            if let Some(at) = earlier {
                let from = at + len;
                return &context[from..context.len().min(from + self.guess)];
            }
        }
        &[]
    }

    /// Counts a guess of which `confirmed` tokens were right.
    pub fn count(&mut self, guessed: usize, confirmed: usize) {
        if guessed > 0 {
            self.n_guesses += 1;
            self.n_guessed += guessed as u64;
            self.n_confirmed += confirmed as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[u32]) -> alloc::vec::Vec<TokenId> {
        ids.iter().map(|&id| TokenId(id)).collect()
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
        assert_eq!(lookup.guess(&context), ids(&[10, 11]));
        let context = ids(&[5, 1, 6, 7, 5, 2, 8, 5]);
        assert_eq!(lookup.guess(&context), ids(&[2, 8]));
    }

    #[test]
    fn a_run_that_repeats_guesses_its_continuation() {
        let lookup = Lookup {
            longest: 2,
            shortest: 2,
            guess: 4,
            ..Lookup::default()
        };
        assert_eq!(lookup.guess(&ids(&[7, 7, 7])), ids(&[7]));
        assert_eq!(lookup.guess(&ids(&[1, 2, 1, 2])), ids(&[1, 2]));
    }

    #[test]
    fn nothing_is_guessed_from_what_is_new() {
        let lookup = Lookup::default();
        assert!(lookup.guess(&[]).is_empty());
        assert!(lookup.guess(&ids(&[1])).is_empty());
        assert!(lookup.guess(&ids(&[1, 2, 3, 4, 3])).is_empty());
    }
}
