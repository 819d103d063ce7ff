//! Vocabularies, trained on a page of text that is part of the program.
//!
//! Byte-level BPE: three control tokens, the 256 bytes, one token per merge. Bytes are spelled as
//! in GPT-2: printable Latin-1 stands for itself, the other 68 for the code points from U+0100.
//! SentencePiece: three control tokens, 256 byte tokens, one piece per merge, the characters.
//!
//! Resources: Sennrich et al. 2016, arXiv:1508.07909; `bytes_to_unicode` of GPT-2's encoder.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use llm::tokenizer::TokenKind;

/// The text that the merges are learned from.
const CORPUS: &str = include_str!("corpus.txt");

/// The control tokens of a byte-level vocabulary, in ascending order of their ids.
pub const CONTROL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/// The user-defined tokens around what a model thinks, in ascending order of their ids.
pub const THINKING: [&str; 2] = ["<think>", "</think>"];

/// The control tokens of a SentencePiece vocabulary, ids 0 to 2.
const SENTENCE_PIECE_CONTROL: [&str; 3] = ["<unk>", "<s>", "</s>"];

/// What stands for a space in SentencePiece token texts.
const SPACE: &str = "▁";

/// Which kind of vocabulary, and where its control tokens sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VocabularyKind {
    /// Byte-level BPE with the control tokens before the bytes, as in SmolLM2.
    ControlFirst,
    /// Byte-level BPE with the control tokens after the merges, as in Qwen2.
    ControlLast,
    /// As [`VocabularyKind::ControlLast`], followed by [`THINKING`], as in Qwen3.
    Thinking,
    /// SentencePiece BPE with byte fallback, as in Llama 2.
    SentencePiece,
}

/// Tokens and merges as a GGUF file spells them.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Token texts by id.
    pub tokens: Vec<String>,
    /// Their types by id.
    pub types: Vec<TokenKind>,
    /// Byte-level BPE: two token texts with a space between, most frequent first.
    pub merges: Vec<String>,
    /// SentencePiece: how early a token's pieces are joined, by id; greater is earlier.
    pub scores: Vec<f32>,
    /// Id of the token for what has no token.
    pub unknown: u32,
    /// Id of the token that begins a sequence or a turn.
    pub begin: u32,
    /// Id of the token that ends an answer.
    pub end: u32,
}

impl Vocabulary {
    /// A vocabulary of `size` tokens.
    ///
    /// The text teaches some hundred merges; tokens beyond those are made of two earlier ones.
    ///
    /// # Panics
    /// When `size` leaves no room for the bytes, or exceeds what pairs of tokens can make.
    pub fn train(size: usize, kind: VocabularyKind) -> Vocabulary {
        match kind {
            VocabularyKind::ControlFirst => Vocabulary::byte_level(size, true),
            VocabularyKind::ControlLast => Vocabulary::byte_level(size, false),
            VocabularyKind::Thinking => {
                let mut all = Vocabulary::byte_level(size - THINKING.len(), false);
                all.tokens.extend(THINKING.map(String::from));
                all.types.extend([TokenKind::UserDefined; THINKING.len()]);
                all
            }
            VocabularyKind::SentencePiece => Vocabulary::sentence_piece(size),
        }
    }

    fn byte_level(size: usize, control_first: bool) -> Vocabulary {
        let n_merges = size
            .checked_sub(256 + CONTROL.len())
            .expect("room for the bytes");
        let words = words(|word| word.bytes().map(|b| spelling(b).to_string()).collect());
        let merges = learn(words, n_merges);
        let mut tokens: Vec<String> = (0..=255).map(spelling).map(String::from).collect();
        tokens.sort_unstable();
        tokens.extend(merges.iter().map(joined));
        let first = if control_first { 0 } else { tokens.len() };
        tokens.splice(first..first, CONTROL.map(String::from));
        let mut types = vec![TokenKind::Normal; tokens.len()];
        types[first..first + CONTROL.len()].fill(TokenKind::Control);
        let first = first as u32;
        let spaced = merges.iter().map(|(left, right)| format!("{left} {right}"));
        Vocabulary {
            tokens,
            types,
            merges: spaced.collect(),
            scores: Vec::new(),
            unknown: first,
            begin: first + 1,
            end: first + 2,
        }
    }

    fn sentence_piece(size: usize) -> Vocabulary {
        let text = CORPUS.replace('\n', "").replace(' ', SPACE);
        let characters: BTreeSet<char> = text.chars().collect();
        let n_merges = size
            .checked_sub(SENTENCE_PIECE_CONTROL.len() + 256 + characters.len())
            .expect("room for the bytes and characters");
        let words = words(|word| word.replace(' ', SPACE).chars().map(String::from).collect());
        let mut tokens: Vec<String> = SENTENCE_PIECE_CONTROL.map(String::from).to_vec();
        tokens.extend((0..=255).map(|byte| format!("<0x{byte:02X}>")));
        let mut types = vec![TokenKind::Byte; tokens.len()];
        types[0] = TokenKind::Unknown;
        types[1..3].fill(TokenKind::Control);
        let n_without_score = tokens.len();
        tokens.extend(learn(words, n_merges).iter().map(joined));
        tokens.extend(characters.into_iter().map(String::from));
        types.resize(tokens.len(), TokenKind::Normal);
        let rank = |id: usize| -(id.saturating_sub(n_without_score) as f32);
        Vocabulary {
            scores: (0..tokens.len()).map(rank).collect(),
            tokens,
            types,
            merges: Vec::new(),
            unknown: 0,
            begin: 1,
            end: 2,
        }
    }

    /// Whether the token is made of printable ASCII, spaces and line feeds alone.
    pub fn is_plain_text(&self, id: u32) -> bool {
        let spaces = [spelling(b' '), spelling(b'\n'), '▁'];
        let plain = |c: char| c.is_ascii_graphic() || spaces.contains(&c);
        self.types[id as usize] == TokenKind::Normal && self.tokens[id as usize].chars().all(plain)
    }
}

/// The first `n` merges of the words, then made-up ones when the words teach no more.
fn learn(mut words: BTreeMap<Vec<String>, usize>, n: usize) -> Vec<(String, String)> {
    let mut merges = Vec::with_capacity(n);
    while merges.len() < n {
        let Some((left, right)) = most_frequent_pair(&words) else {
            break;
        };
        for word in words.keys().cloned().collect::<Vec<_>>() {
            let merged = merge(&word, &left, &right);
            if merged.len() < word.len() {
                let count = words.remove(&word).unwrap_or(0);
                *words.entry(merged).or_insert(0) += count;
            }
        }
        merges.push((left, right));
    }
    let learned: Vec<String> = merges.iter().map(joined).collect();
    let mut known: BTreeSet<String> = learned.iter().cloned().collect();
    let inner = |token: &&String| token.chars().all(|c| c.is_ascii_alphabetic());
    // What is made up is continued in its turn.
    let mut lefts = VecDeque::from(learned.clone());
    while let Some(left) = lefts.pop_front() {
        for right in learned.iter().filter(inner) {
            if merges.len() == n {
                return merges;
            }
            let joined = format!("{left}{right}");
            if known.insert(joined.clone()) {
                lefts.push_back(joined);
                merges.push((left.clone(), right.clone()));
            }
        }
    }
    assert_eq!(
        merges.len(),
        n,
        "the text teaches too little for so many tokens"
    );
    merges
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

/// The words of the text, spelled, with their counts.
///
/// A word is a run of letters with at most one space before it: narrower than every pre-tokenizer
/// in use, so each merge can occur with any of them.
fn words(spell: impl Fn(&str) -> Vec<String>) -> BTreeMap<Vec<String>, usize> {
    let mut words = BTreeMap::new();
    let text: Vec<char> = CORPUS.chars().collect();
    let goes_on = |before: char| before == ' ' || before.is_alphabetic();
    for word in text.chunk_by(|before, c| c.is_ascii_alphabetic() && goes_on(*before)) {
        let word: String = word.iter().collect();
        if word.len() > 1 {
            *words.entry(spell(&word)).or_insert(0) += 1;
        }
    }
    words
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
    for token in word {
        match merged.last_mut() {
            Some(last) if last == left && token == right => last.push_str(right),
            _ => merged.push(token.clone()),
        }
    }
    merged
}

/// The token that a merge makes.
fn joined((left, right): &(String, String)) -> String {
    format!("{left}{right}")
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, Vocabulary, VocabularyKind, spelling};
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
        for kind in [VocabularyKind::ControlFirst, VocabularyKind::ControlLast] {
            let vocabulary = Vocabulary::train(512, kind);
            assert_eq!(vocabulary.tokens.len(), 512);
            assert_eq!(vocabulary.merges.len(), 253);
            assert_eq!(vocabulary.tokens.iter().collect::<BTreeSet<_>>().len(), 512);
            assert_eq!(vocabulary.tokens[vocabulary.end as usize], "<|im_end|>");
            for merge in &vocabulary.merges {
                assert!(
                    vocabulary.tokens.contains(&merge.replacen(' ', "", 1)),
                    "{merge}"
                );
            }
            assert!(vocabulary.tokens.iter().any(|t| t == "Ġthe"));
        }
    }

    #[test]
    fn pieces_have_falling_scores() {
        let vocabulary = Vocabulary::train(512, VocabularyKind::SentencePiece);
        assert_eq!(vocabulary.tokens.len(), 512);
        assert_eq!(vocabulary.tokens.iter().collect::<BTreeSet<_>>().len(), 512);
        assert!(vocabulary.scores[259..].is_sorted_by(|a, b| a > b));
        let id_of = |text: &str| vocabulary.tokens.iter().position(|t| t == text).unwrap();
        assert!(id_of("▁the") < id_of("a"));
        assert_eq!(vocabulary.types[id_of("<0x0A>")], TokenKind::Byte);
        assert!(vocabulary.is_plain_text(id_of("▁the") as u32));
        assert!(!vocabulary.is_plain_text(1));
    }

    #[test]
    fn large_vocabularies_are_filled_up() {
        for size in [49_152, 151_936] {
            let vocabulary = Vocabulary::train(size, VocabularyKind::ControlFirst);
            assert_eq!(
                vocabulary.tokens.iter().collect::<BTreeSet<_>>().len(),
                size
            );
            assert_eq!(vocabulary.merges.len(), size - 259);
        }
    }
}
