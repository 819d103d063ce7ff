//! The hand-written patterns against chosen texts and against a regex engine.

use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use fancy_regex::Regex;

use super::PreTokenizer;

fn pieces(pre: PreTokenizer, text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    pre.for_each_piece(text, &mut |piece| pieces.push(piece.to_string()));
    assert_eq!(pieces.concat(), text);
    pieces
}

#[test]
fn gpt2_keeps_one_space_with_the_word() {
    let cut = |text| pieces(PreTokenizer::Gpt2, text);
    assert_eq!(
        cut("Hello  world's 123!\n"),
        ["Hello", " ", " world", "'s", " 123", "!", "\n"]
    );
    assert_eq!(cut("a \n b"), ["a", " \n", " b"]);
    assert_eq!(cut("I'LL"), ["I", "'", "LL"]);
    assert_eq!(cut("x   "), ["x", "   "]);
    assert_eq!(cut("\u{301}é"), ["\u{301}", "é"]);
}

#[test]
fn smollm_sets_every_digit_apart_and_ends_the_text_there() {
    let cut = |text| pieces(PreTokenizer::Smollm, text);
    assert_eq!(cut("a  12"), ["a", "  ", "1", "2"]);
    assert_eq!(cut("1 x½"), ["1", " x", "½"]);
}

#[test]
fn llama3_groups_digits_newlines_and_leading_marks() {
    let cut = |text| pieces(PreTokenizer::Llama3, text);
    assert_eq!(
        cut("12345 (foo)\n\nbar"),
        ["123", "45", " (", "foo", ")\n\n", "bar"]
    );
    assert_eq!(cut("a \n \n  b"), ["a", " \n \n", " ", " b"]);
    assert_eq!(cut("WE'LL 'ſ"), ["WE", "'LL", " '", "ſ"]);
    assert_eq!(cut("x'ſ"), ["x", "'ſ"]);
    assert_eq!(cut("\tif"), ["\tif"]);
    assert_eq!(pieces(PreTokenizer::Qwen2, "12"), ["1", "2"]);
}

#[test]
fn default_splits_marks_and_triples() {
    let cut = |text| pieces(PreTokenizer::Default, text);
    assert_eq!(cut("it's 12345"), ["it", "'", "s", " ", "123", "45"]);
    assert_eq!(cut("a+b"), ["a", "+", "b"]);
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const GPT2_WITHOUT_LAST: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)";

/// The published patterns: each cuts what the one before left, and what it does not match stays
/// as a piece.
fn passes(pre: PreTokenizer) -> &'static [&'static str] {
    match pre {
        PreTokenizer::Gpt2 => &[GPT2],
        PreTokenizer::Smollm => &[r"\p{N}", GPT2],
        PreTokenizer::Qwen2 => &[QWEN2],
        PreTokenizer::Llama3 => &[LLAMA3],
        PreTokenizer::Default => &[
            r"[\p{P}\$\+<=>\^~\|]+",
            GPT2_WITHOUT_LAST,
            r"\p{N}+",
            r"[0-9][0-9][0-9]",
        ],
    }
}

/// Cuts by regular expressions.
fn by_regex(regexes: &[Regex], text: &str) -> Vec<String> {
    let mut pieces = vec![text.to_string()];
    for regex in regexes {
        let mut finer = Vec::new();
        for piece in pieces {
            let mut from = 0;
            for found in regex.find_iter(&piece).map(Result::unwrap) {
                finer.extend([
                    piece[from..found.start()].to_string(),
                    found.as_str().to_string(),
                ]);
                from = found.end();
            }
            finer.push(piece[from..].to_string());
        }
        pieces = finer
            .into_iter()
            .filter(|piece| !piece.is_empty())
            .collect();
    }
    pieces
}

#[test]
fn random_texts_are_cut_as_the_patterns_cut_them() {
    const ATOMS: [&str; 40] = [
        "a", "B", "é", "中", "ß", "ſ", "'s", "'S", "'ll", "'LL", "'Re", "'v", "'", "1", "23",
        "456", "½", "Ⅷ", "٣", " ", "  ", "\t", "\n", "\r\n", "\u{a0}", "\u{3000}", "\u{85}", "!",
        "?!", "-", "$", "+", "<", "…", "\u{301}", "ि", "😀", "\u{200d}", "_", "\0",
    ];
    let mut rng = crate::sampler::Pcg32::new(11, 0);
    let mut random = |n: usize| rng.next_u32() as usize % n;
    for pre in [
        PreTokenizer::Gpt2,
        PreTokenizer::Smollm,
        PreTokenizer::Qwen2,
        PreTokenizer::Llama3,
        PreTokenizer::Default,
    ] {
        let regexes: Vec<Regex> = passes(pre).iter().map(|p| Regex::new(p).unwrap()).collect();
        for _ in 0..4000 {
            let text: String = (0..1 + random(12))
                .map(|_| ATOMS[random(ATOMS.len())])
                .collect();
            assert_eq!(
                pieces(pre, &text),
                by_regex(&regexes, &text),
                "{pre:?} {text:?}"
            );
        }
    }
}
