//! A tokenizer's tables from a file's metadata.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::byte_pair::{Merge, Merges};
use super::index::room_for;
use super::pretokenize::PreTokenizer;
use super::sentence_piece::{SentencePiece, VISIBLE_SPACE};
use super::special::Specials;
use super::vocabulary::Vocabulary;
use super::{Algorithm, Error, TokenId, TokenKind, Tokenizer, byte_level};
use crate::gguf::{Array, Gguf, Value};

const TOKENS: &str = "tokenizer.ggml.tokens";
const KINDS: &str = "tokenizer.ggml.token_type";
const SCORES: &str = "tokenizer.ggml.scores";
const MERGES: &str = "tokenizer.ggml.merges";

/// Names of tokens that end an answer in the chat formats of the supported families. Files name
/// one or two ids; models end with any of these.
const END_NAMES: [&str; 8] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "</s>",
    "<end_of_turn>",
];

impl Tokenizer {
    /// Builds the tokenizer that a file describes.
    ///
    /// # Errors
    /// A missing or damaged key, a kind of tokenizer that is not supported, or too little memory.
    pub fn from_gguf(gguf: &Gguf<'_>) -> Result<Self, Error> {
        let (vocabulary, algorithm) = match gguf.str("tokenizer.ggml.model")? {
            "gpt2" => byte_pair(gguf)?,
            "llama" => sentence_piece(gguf)?,
            name => {
                return Err(Error::UnsupportedModel {
                    name: name.to_string(),
                });
            }
        };
        let specials = Specials::of(&vocabulary);
        let id = |key: &'static str| match gguf.optional_u32(key)? {
            Some(id) if id as usize >= vocabulary.len() => Err(Error::IdOutOfRange {
                key,
                id,
                vocab_size: vocabulary.len(),
            }),
            id => Ok(id.map(TokenId)),
        };
        let eos = id("tokenizer.ggml.eos_token_id")?;
        let eot = id("tokenizer.ggml.eot_token_id")?;
        let eom = id("tokenizer.ggml.eom_token_id")?;
        let named = END_NAMES
            .iter()
            .map(|name| specials.by_name(&vocabulary, name.as_bytes()));
        let ends = named.chain([eos, eot, eom]).flatten();
        let end_of_generation = BTreeSet::from_iter(ends).into_iter().collect();
        // Prompts never end with a mark of their own; a key of another type is a damaged file all the same.
        gguf.optional_bool("tokenizer.ggml.add_eos_token")?;
        Ok(Tokenizer {
            bos: id("tokenizer.ggml.bos_token_id")?,
            eos,
            unknown: id("tokenizer.ggml.unknown_token_id")?,
            end_of_generation,
            add_bos: gguf
                .optional_bool("tokenizer.ggml.add_bos_token")?
                .unwrap_or_else(|| adds_bos_by_custom(&algorithm)),
            vocabulary,
            algorithm,
            specials,
        })
    }
}

/// What a file without `add_bos_token` means: SentencePiece and Llama 3 models start with one.
fn adds_bos_by_custom(algorithm: &Algorithm) -> bool {
    matches!(
        algorithm,
        Algorithm::SentencePiece(_)
            | Algorithm::BytePair {
                pre: PreTokenizer::Llama3,
                ..
            }
    )
}

fn byte_pair(gguf: &Gguf<'_>) -> Result<(Vocabulary, Algorithm), Error> {
    let pre = match gguf.optional_str("tokenizer.ggml.pre")? {
        Some(name) => {
            PreTokenizer::from_name(name).ok_or_else(|| Error::UnsupportedPreTokenizer {
                name: name.to_string(),
            })?
        }
        // Files of before May 2024 lack the key; the architecture tells for Qwen2.
        None if gguf.optional_str("general.architecture")? == Some("qwen2") => PreTokenizer::Qwen2,
        None => PreTokenizer::Default,
    };
    let vocabulary = vocabulary(gguf, |kind, text, out| {
        let is_mark = matches!(kind, TokenKind::Control | TokenKind::UserDefined);
        if is_mark || !byte_level::decode_into(text, out) {
            out.extend_from_slice(text);
        }
    })?;
    let lines = gguf.array(MERGES)?;
    let strings = lines
        .strings()
        .ok_or_else(|| wrong_elements(MERGES, &lines))?;
    let whole_pieces = pre == PreTokenizer::Llama3;
    let mut merges = Merges::with_room_for(lines.len(), &vocabulary, whole_pieces)?;
    let mut both = Vec::new();
    for line in strings {
        if let Some(merge) = parse_merge(&vocabulary, line, &mut both) {
            merges.push(merge);
        }
    }
    Ok((vocabulary, Algorithm::BytePair { merges, pre }))
}

/// The ids of a merge `left right`. `None` when a part is no token: such a merge can never apply.
fn parse_merge(vocabulary: &Vocabulary, line: &[u8], both: &mut Vec<u8>) -> Option<Merge> {
    // The space of the text is written Ġ, so that this is the only one.
    let space = line.iter().position(|&byte| byte == b' ')?;
    both.clear();
    byte_level::decode_into(&line[..space], both).then_some(())?;
    let left_len = both.len();
    byte_level::decode_into(&line[space + 1..], both).then_some(())?;
    Some(Merge {
        left: vocabulary.find(&both[..left_len])?,
        right: vocabulary.find(&both[left_len..])?,
        merged: vocabulary.find(both)?,
    })
}

fn sentence_piece(gguf: &Gguf<'_>) -> Result<(Vocabulary, Algorithm), Error> {
    let mut byte_tokens = [None; 256];
    let mut id = 0;
    let vocabulary = vocabulary(gguf, |kind, text, out| {
        match (kind, byte_of_name(text)) {
            (TokenKind::Byte, Some(byte)) => {
                byte_tokens[usize::from(byte)] = Some(TokenId(id));
                out.push(byte);
            }
            (TokenKind::Normal, _) => push_with_spaces(text, out),
            _ => out.extend_from_slice(text),
        }
        id += 1;
    })?;
    let array = gguf.array(SCORES)?;
    let mut scores = room_for(array.len())?;
    for number in numbers(SCORES, &array, vocabulary.len())? {
        let Value::F32(score) = number else {
            return Err(wrong_elements(SCORES, &array));
        };
        scores.push(score);
    }
    let adds_space = gguf.optional_bool("tokenizer.ggml.add_space_prefix")?;
    let pieces = SentencePiece {
        scores,
        byte_tokens,
        adds_space: adds_space.unwrap_or(true),
    };
    Ok((vocabulary, Algorithm::SentencePiece(pieces)))
}

/// The byte that a token's name `<0x0A>` stands for.
fn byte_of_name(name: &[u8]) -> Option<u8> {
    let [b'<', b'0', b'x', high, low, b'>'] = name else {
        return None;
    };
    let digit = |hex: u8| char::from(hex).to_digit(16);
    Some((digit(*high)? << 4 | digit(*low)?) as u8)
}

/// Appends a SentencePiece token with spaces for its visible ones.
fn push_with_spaces(text: &[u8], out: &mut Vec<u8>) {
    let mut visible = [0; 4];
    let visible = VISIBLE_SPACE.encode_utf8(&mut visible).as_bytes();
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(visible) {
            out.push(b' ');
            rest = after;
        } else {
            out.push(first);
            rest = tail;
        }
    }
}

/// All tokens; `write` appends what a token's text stands for.
fn vocabulary(
    gguf: &Gguf<'_>,
    mut write: impl FnMut(TokenKind, &[u8], &mut Vec<u8>),
) -> Result<Vocabulary, Error> {
    let array = gguf.array(TOKENS)?;
    let tokens = array
        .strings()
        .ok_or_else(|| wrong_elements(TOKENS, &array))?;
    let n = array.len();
    if n == 0 {
        return Err(Error::EmptyVocabulary);
    }
    let kinds = gguf.optional_array(KINDS)?;
    let mut kinds = kinds.map(|kinds| numbers(KINDS, &kinds, n)).transpose()?;
    let mut vocabulary = Vocabulary::with_room_for(n, array.bytes().len() - n * size_of::<u64>())?;
    for (token, text) in tokens.enumerate() {
        let kind = match kinds.as_mut().and_then(Iterator::next) {
            None => TokenKind::Normal,
            Some(number) => kind_of(token, &number)?,
        };
        vocabulary.push(kind, |out| write(kind, text, out));
    }
    Ok(vocabulary)
}

fn kind_of(token: usize, number: &Value<'_>) -> Result<TokenKind, Error> {
    let id = match *number {
        Value::Signed(id, _) => id,
        Value::Unsigned(id, _) => i64::try_from(id).unwrap_or(-1),
        _ => {
            return Err(Error::WrongElements {
                key: KINDS,
                found: number.value_type().name(),
            });
        }
    };
    TokenKind::from_id(id).ok_or(Error::UnknownKind { token, id })
}

/// The numbers of an array that has one per token.
fn numbers<'g>(
    key: &'static str,
    array: &Array<'g>,
    n_tokens: usize,
) -> Result<impl Iterator<Item = Value<'g>> + use<'g>, Error> {
    let numbers = array.numbers().ok_or_else(|| wrong_elements(key, array))?;
    if array.len() != n_tokens {
        return Err(Error::WrongLength {
            key,
            expected: n_tokens,
            found: array.len(),
        });
    }
    Ok(numbers)
}

fn wrong_elements(key: &'static str, array: &Array<'_>) -> Error {
    Error::WrongElements {
        key,
        found: array.element_type().name(),
    }
}
