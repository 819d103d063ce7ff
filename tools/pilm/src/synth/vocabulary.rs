//! A byte-level BPE vocabulary, trained on a page of text that is part of the program.
//!
//! Three control tokens, the 256 bytes, then one token per merge. Bytes are spelled as in GPT-2:
//! printable Latin-1 stands for itself, the other 68 bytes for the code points from U+0100.
//!
//! Resources: Sennrich et al. 2016, arXiv:1508.07909; `bytes_to_unicode` of GPT-2's encoder.

use std::collections::BTreeMap;

/// The text that the merges are learned from.
const CORPUS: &str = include_str!("corpus.txt");

/// The control tokens, in ascending order of their ids.
pub const CONTROL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/// Where the control tokens sit in the id range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlIds {
    /// Before the bytes, as in SmolLM2.
    First,
    /// After the merges, as in Qwen2.
    Last,
}

/// Tokens and merges as a GGUF file spells them.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Token texts by id.
    pub tokens: Vec<String>,
    /// Two token texts with a space between, most frequent first.
    pub merges: Vec<String>,
    /// Id of `CONTROL[0]`.
    pub first_control: u32,
}

impl Vocabulary {
    /// A vocabulary of `size` tokens.
    ///
    /// # Panics
    /// When `size` is less than 259 or more than the text can teach.
    pub fn train(size: usize, control: ControlIds) -> Vocabulary {
        let n_merges = size
            .checked_sub(256 + CONTROL.len())
            .expect("room for the bytes");
        let mut merges = Vec::with_capacity(n_merges);
        let mut words = spelled_words();
        while merges.len() < n_merges {
            let (left, right) = most_frequent_pair(&words).expect("text for more merges");
            words
                .keys()
                .cloned()
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|word| {
                    let merged = merge(&word, &left, &right);
                    if merged.len() < word.len() {
                        let count = words.remove(&word).unwrap_or(0);
                        *words.entry(merged).or_insert(0) += count;
                    }
                });
            merges.push((left, right));
        }

        let mut bytes: Vec<char> = (0..=255).map(spelling).collect();
        bytes.sort_unstable();
        let mut tokens: Vec<String> = bytes.into_iter().map(String::from).collect();
        tokens.extend(merges.iter().map(|(left, right)| format!("{left}{right}")));
        let at = if control == ControlIds::First {
            0
        } else {
            tokens.len()
        };
        tokens.splice(at..at, CONTROL.map(String::from));
        Vocabulary {
            tokens,
            merges: merges
                .into_iter()
                .map(|(left, right)| format!("{left} {right}"))
                .collect(),
            first_control: at as u32,
        }
    }

    /// Id of the token that ends a turn.
    pub fn im_end(&self) -> u32 {
        self.first_control + 2
    }

    /// Whether the token is a control token.
    pub fn is_control(&self, id: u32) -> bool {
        (self.first_control..self.first_control + CONTROL.len() as u32).contains(&id)
    }

    /// Whether the token is made of printable ASCII, spaces and line feeds alone.
    pub fn is_plain_text(&self, id: u32) -> bool {
        let plain = |c: char| c.is_ascii_graphic() || c == spelling(b' ') || c == spelling(b'\n');
        !self.is_control(id) && self.tokens[id as usize].chars().all(plain)
    }
}

/// The character that stands for `byte` in token texts.
pub fn spelling(byte: u8) -> char {
    let itself = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if itself(byte) {
        char::from(byte)
    } else {
        let earlier = (0..byte).filter(|b| !itself(*b)).count() as u32;
        char::from_u32(0x100 + earlier).expect("68 code points from U+0100 are characters")
    }
}

/// The words of the text with their counts, each a list of byte spellings.
///
/// A word is a run of letters with at most one space before it, or one other character: narrower
/// than every pre-tokenizer in use, so each merge can occur with any of them.
fn spelled_words() -> BTreeMap<Vec<String>, usize> {
    let mut words = BTreeMap::new();
    let mut word = String::new();
    for c in CORPUS.chars() {
        if !(c.is_ascii_alphabetic() && (word == " " || word.ends_with(char::is_alphabetic))) {
            count(&mut words, &word);
            word.clear();
        }
        word.push(c);
    }
    count(&mut words, &word);
    words
}

fn count(words: &mut BTreeMap<Vec<String>, usize>, word: &str) {
    if word.len() > 1 {
        let spelled = word.bytes().map(|b| spelling(b).to_string()).collect();
        *words.entry(spelled).or_insert(0) += 1;
    }
}

/// The pair with the highest count; of equal ones the first in alphabetical order.
fn most_frequent_pair(words: &BTreeMap<Vec<String>, usize>) -> Option<(String, String)> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (word, count) in words {
        for pair in word.windows(2) {
            *counts.entry((&pair[0], &pair[1])).or_insert(0) += count;
        }
    }
    let best = *counts.values().max()?;
    let (left, right) = counts.into_iter().find(|(_, count)| *count == best)?.0;
    Some((left.to_owned(), right.to_owned()))
}

/// `word` with every `left right` joined.
fn merge(word: &[String], left: &str, right: &str) -> Vec<String> {
    let mut merged: Vec<String> = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, tail)) = rest.split_first() {
        match tail.split_first() {
            Some((second, after)) if first == left && second == right => {
                merged.push(format!("{left}{right}"));
                rest = after;
            }
            _ => {
                merged.push(first.clone());
                rest = tail;
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::{ControlIds, Vocabulary, spelling};
    use std::collections::BTreeSet;

    #[test]
    fn spellings_are_gpt2s() {
        assert_eq!(spelling(b'A'), 'A');
        assert_eq!(spelling(b' '), 'Ġ');
        assert_eq!(spelling(b'\n'), 'Ċ');
        assert_eq!(spelling(0xAD), '\u{143}');
        assert_eq!((0..=255).map(spelling).collect::<BTreeSet<_>>().len(), 256);
    }

    #[test]
    fn tokens_are_distinct_and_merges_make_them() {
        for control in [ControlIds::First, ControlIds::Last] {
            let vocabulary = Vocabulary::train(512, control);
            assert_eq!(vocabulary.tokens.len(), 512);
            assert_eq!(vocabulary.merges.len(), 253);
            assert_eq!(vocabulary.tokens.iter().collect::<BTreeSet<_>>().len(), 512);
            assert_eq!(
                vocabulary.tokens[vocabulary.im_end() as usize],
                "<|im_end|>"
            );
            for merge in &vocabulary.merges {
                assert!(
                    vocabulary.tokens.contains(&merge.replacen(' ', "", 1)),
                    "{merge}"
                );
            }
        }
        assert!(
            Vocabulary::train(512, ControlIds::First)
                .tokens
                .iter()
                .any(|t| t == "Ġthe")
        );
    }
}
