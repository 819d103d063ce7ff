//! How byte-level tokenizers cut a text into pieces before they merge bytes.
//!
//! Each way is a regular expression in the model's `tokenizer.json`; here they are written out by
//! hand, because look-ahead (`\s+(?!\S)`: spaces, less the one that belongs to the next word) is
//! what small regex engines lack. [`gpt2`] and [`llama3`] return the length of the first match of
//! their pattern; every text has one, since the alternatives cover all characters.
//!
//! Resources: the `pre_tokenizer` of the models' published `tokenizer.json`; for `default`, ggml
//! `src/llama-vocab.cpp`.

use alloc::borrow::Cow;

use super::unicode::{Class, class, is_punctuation, nfc};

/// Names for messages; aliases of other models with the same pattern are accepted too.
pub(super) const SUPPORTED: &str = "smollm, qwen2, llama-bpe, gpt-2, default";

/// A way of cutting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreTokenizer {
    /// One pass of GPT-2's pattern.
    Gpt2,
    /// Every number character alone, GPT-2's pattern between them.
    Smollm,
    /// Llama 3's pattern with numbers of one character.
    Qwen2,
    /// Llama 3's pattern: numbers of up to three characters.
    Llama3,
    /// What ggml does when a file says `default`.
    Default,
}

impl PreTokenizer {
    /// The way that `tokenizer.ggml.pre` names.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "gpt-2" | "gpt2" | "phi-2" | "mpt" | "olmo" | "jais" | "trillion" | "roberta-bpe" => {
                PreTokenizer::Gpt2
            }
            "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" | "exaone"
            | "minerva-7b" => PreTokenizer::Smollm,
            "qwen2" | "deepseek-r1-qwen" | "megrez" | "stablelm2" => PreTokenizer::Qwen2,
            "llama-bpe" | "llama3" | "llama-v3" | "falcon3" | "falcon-h1" | "pixtral" | "lfm2" => {
                PreTokenizer::Llama3
            }
            "default" => PreTokenizer::Default,
            _ => return None,
        })
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            PreTokenizer::Gpt2 => "gpt2/gpt-2",
            PreTokenizer::Smollm => "gpt2/smollm",
            PreTokenizer::Qwen2 => "gpt2/qwen2",
            PreTokenizer::Llama3 => "gpt2/llama-bpe",
            PreTokenizer::Default => "gpt2/default",
        }
    }

    /// The text that is cut instead of `text`.
    pub(super) fn normalize(self, text: &str) -> Cow<'_, str> {
        match self {
            PreTokenizer::Qwen2 => nfc(text),
            _ => Cow::Borrowed(text),
        }
    }

    /// Calls `f` with each piece of `text` in order; together they are the text.
    pub(super) fn for_each_piece(self, text: &str, f: &mut dyn FnMut(&str)) {
        match self {
            PreTokenizer::Gpt2 => cut(text, gpt2, f),
            PreTokenizer::Smollm => {
                cut(
                    text,
                    number_or_not,
                    &mut |part| match part.starts_with(is_number) {
                        true => f(part),
                        false => cut(part, gpt2, f),
                    },
                );
            }
            PreTokenizer::Qwen2 => cut(text, |rest| llama3(rest, 1), f),
            PreTokenizer::Llama3 => cut(text, |rest| llama3(rest, 3), f),
            PreTokenizer::Default => {
                let by_marks = |rest: &str| run_or_not(rest, is_mark);
                let by_numbers = |rest: &str| run_or_not(rest, is_number);
                cut(text, by_marks, &mut |part| {
                    cut(part, gpt2, &mut |piece| {
                        cut(piece, by_numbers, &mut |run| cut(run, ascii_digits, f));
                    });
                });
            }
        }
    }
}

/// Cuts `text` by a matcher that returns the length of the first piece, in bytes.
fn cut(text: &str, first_len: impl Fn(&str) -> usize, f: &mut dyn FnMut(&str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(first_len(rest));
        f(piece);
        rest = tail;
    }
}

/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
fn gpt2(rest: &str) -> usize {
    if let Some(len) = contraction(rest, false) {
        return len;
    }
    let body = rest.strip_prefix(' ').unwrap_or(rest);
    match body.chars().next().map(class) {
        Some(of_body @ (Class::Letter | Class::Number | Class::Other)) => {
            rest.len() - body.len() + run_len(body, |c| class(c) == of_body)
        }
        Some(Class::Space) | None => spaces(rest),
    }
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,M}| ?[^\s\p{L}\p{N}]+[\r\n]*`
/// `|\s*[\r\n]+|\s+(?!\S)|\s+` with `max_digits` for M.
fn llama3(rest: &str, max_digits: usize) -> usize {
    if let Some(len) = contraction(rest, true) {
        return len;
    }
    let mut chars = rest.chars();
    let Some(first) = chars.next() else { return 0 };
    let is_letter = |c| class(c) == Class::Letter;
    let of_first = class(first);
    let letters_at = match of_first {
        Class::Letter => Some(0),
        Class::Other | Class::Space if first != '\r' && first != '\n' => Some(first.len_utf8()),
        _ => None,
    };
    if let Some(at) = letters_at {
        let letters = run_len(&rest[at..], is_letter);
        if letters > 0 {
            return at + letters;
        }
    }
    if of_first == Class::Number {
        let numbers = rest.chars().take(max_digits).take_while(|&c| is_number(c));
        return numbers.map(char::len_utf8).sum();
    }
    let body = rest.strip_prefix(' ').unwrap_or(rest);
    let others = run_len(body, |c| class(c) == Class::Other);
    if others > 0 {
        let newlines = run_len(&body[others..], |c| c == '\r' || c == '\n');
        return rest.len() - body.len() + others + newlines;
    }
    let run = &rest[..run_len(rest, |c| class(c) == Class::Space)];
    match run.rfind(['\r', '\n']) {
        Some(last_newline) => last_newline + 1,
        None => spaces(rest),
    }
}

/// `\s+(?!\S)|\s+`: a run of spaces, less its last character when something follows and one is
/// left.
fn spaces(rest: &str) -> usize {
    let run = run_len(rest, |c| class(c) == Class::Space);
    let last = rest[..run].chars().next_back().map_or(0, char::len_utf8);
    if run < rest.len() && last < run {
        run - last
    } else {
        run
    }
}

/// An English contraction's tail: `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d`.
fn contraction(rest: &str, any_case: bool) -> Option<usize> {
    let tail = rest.strip_prefix('\'')?;
    let fold = |c: char| match c {
        // Without regard to case, Unicode counts the long s as an s.
        'ſ' if any_case => 's',
        _ if any_case => c.to_ascii_lowercase(),
        _ => c,
    };
    let mut chars = tail.chars();
    let first = chars.next()?;
    let second = chars.next();
    match (fold(first), second.map(fold)) {
        ('s' | 't' | 'm' | 'd', _) => Some(1 + first.len_utf8()),
        ('r', Some('e')) | ('v', Some('e')) | ('l', Some('l')) => Some(3),
        _ => None,
    }
}

/// Length in bytes of the first characters that are all `wanted`.
fn run_len(text: &str, wanted: impl Fn(char) -> bool) -> usize {
    text.find(|c| !wanted(c)).unwrap_or(text.len())
}

/// One number character, or everything up to the next one.
fn number_or_not(rest: &str) -> usize {
    match rest.chars().next() {
        Some(c) if is_number(c) => c.len_utf8(),
        _ => run_len(rest, |c| !is_number(c)),
    }
}

/// All characters that are `wanted`, or everything up to the next one.
fn run_or_not(rest: &str, wanted: fn(char) -> bool) -> usize {
    match run_len(rest, wanted) {
        0 => run_len(rest, |c| !wanted(c)),
        len => len,
    }
}

fn is_number(c: char) -> bool {
    class(c) == Class::Number
}

/// `[\p{P}$+<=>^~|]`
fn is_mark(c: char) -> bool {
    matches!(c, '$' | '+' | '<' | '=' | '>' | '^' | '~' | '|') || is_punctuation(c)
}

/// `[0-9][0-9][0-9]`, or everything up to the next such triple.
fn ascii_digits(rest: &str) -> usize {
    let is_triple = |at: usize| {
        rest.as_bytes()
            .get(at..at + 3)
            .is_some_and(|three| three.iter().all(u8::is_ascii_digit))
    };
    if is_triple(0) {
        3
    } else {
        (1..rest.len())
            .find(|&at| is_triple(at))
            .unwrap_or(rest.len())
    }
}

#[cfg(test)]
mod tests;
