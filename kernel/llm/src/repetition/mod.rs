//! Whether an answer repeats itself.
//!
//! It does when its end is one piece over and over: at least [`MIN_COPIES`] times, and at least [`MIN_TOKENS`] tokens in
//! all. A piece has up to [`MAX_PERIOD`] tokens, so that four of them are the 512 that an answer has at most by default.
//!
//! A list whose items are the same but for their numbers repeats itself too. There any number counts as any other, and
//! the piece needs [`MIN_WORDS`] tokens with letters: counting, tables of numbers and rows of figures are none.

#[cfg(test)]
mod tests;

use crate::tokenizer::TokenId;

/// The longest piece, in tokens.
pub const MAX_PERIOD: usize = 128;
/// How often the piece stands there at least, the last copy whole. A refrain is sung two or three times in a row.
pub const MIN_COPIES: usize = 4;
/// The fewest tokens of all copies together: rulers, dots and rows of a table are shorter.
pub const MIN_TOKENS: usize = 48;
/// The fewest tokens with letters in a piece whose numbers differ: two short lines of a table in words have fewer.
pub const MIN_WORDS: usize = 8;

/// Stands for a number of any digits.
const NUMBER: u32 = u32::MAX;

/// Follows an answer, token by token; allocates nothing.
#[derive(Debug)]
pub struct Repetition {
    exact: Tail,
    /// The same with [`NUMBER`] for each number.
    numbered: Tail,
    /// Whether the token before belongs to a number.
    in_number: bool,
}

impl Default for Repetition {
    fn default() -> Self {
        Repetition {
            exact: Tail::EMPTY,
            numbered: Tail::EMPTY,
            in_number: false,
        }
    }
}

impl Repetition {
    /// Takes the answer's next token and its text; whether the answer repeats itself now.
    pub fn push(&mut self, id: TokenId, text: &[u8]) -> bool {
        let has_letter = text
            .iter()
            .any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
        let digits = text.trim_ascii_start();
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let repeats = self.exact.push(id.0, has_letter, 0);
        let goes_on = is_number && self.in_number;
        self.in_number = is_number;
        if goes_on {
            return repeats;
        }
        let symbol = if is_number { NUMBER } else { id.0 };
        self.numbered.push(symbol, has_letter, MIN_WORDS) || repeats
    }
}

/// The last symbols, and how far back each period holds.
#[derive(Debug)]
struct Tail {
    /// The last symbols and whether they have letters: a ring in which `next` is the oldest.
    symbols: [(u32, bool); MAX_PERIOD],
    next: usize,
    /// Number of symbols so far.
    len: usize,
    /// For each period less one: how many of the last symbols equal the one that period earlier.
    matching: [usize; MAX_PERIOD],
}

impl Tail {
    const EMPTY: Tail = Tail {
        symbols: [(0, false); MAX_PERIOD],
        next: 0,
        len: 0,
        matching: [0; MAX_PERIOD],
    };

    /// Takes a symbol; whether the end repeats a piece that has `min_words` symbols with letters.
    fn push(&mut self, symbol: u32, has_letter: bool, min_words: usize) -> bool {
        let mut repeats = false;
        let mut words = 0;
        for period in 1..=self.len.min(MAX_PERIOD) {
            let (earlier, earlier_has_letter) =
                self.symbols[(self.next + MAX_PERIOD - period) % MAX_PERIOD];
            words += usize::from(earlier_has_letter);
            let matching = &mut self.matching[period - 1];
            *matching = if earlier == symbol { *matching + 1 } else { 0 };
            let repeated = *matching + period;
            repeats |= repeated >= MIN_TOKENS.max(MIN_COPIES * period) && words >= min_words;
        }
        self.symbols[self.next] = (symbol, has_letter);
        self.next = (self.next + 1) % MAX_PERIOD;
        self.len += 1;
        repeats
    }
}
