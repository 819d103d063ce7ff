//! Text to token ids and back, as the model's own tokenizer does it.
//!
//! Two kinds exist in GGUF files: byte-level BPE (`gpt2`: GPT-2, Llama 3, Qwen2, SmolLM) and
//! SentencePiece BPE (`llama`: Llama 2, TinyLlama). Ids equal those of Hugging Face's `tokenizers`.

mod byte_level;
mod byte_pair;
mod error;
mod index;
mod load;
mod pretokenize;
mod sentence_piece;
mod special;
mod token;
mod unicode;
mod vocabulary;

use alloc::vec::Vec;

use byte_pair::Merges;
pub use error::Error;
use pretokenize::PreTokenizer;
use sentence_piece::SentencePiece;
use special::Specials;
pub use token::{TokenId, TokenKind};
use unicode::Normalization;
use vocabulary::Vocabulary;

/// A model's tokenizer. It owns what it needs; the file's header can go.
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
    algorithm: Algorithm,
    specials: Specials,
    ids: NamedIds,
}

#[derive(Debug)]
enum Algorithm {
    /// `tokenizer.ggml.model` is `gpt2`.
    BytePair {
        merges: Merges,
        pre: PreTokenizer,
        normalization: Normalization,
    },
    /// `tokenizer.ggml.model` is `llama`.
    SentencePiece(SentencePiece),
}

/// Ids that the file names by their role.
#[derive(Debug, Default)]
struct NamedIds {
    bos: Option<TokenId>,
    eos: Option<TokenId>,
    unknown: Option<TokenId>,
    /// Every id that ends an answer, ascending.
    end_of_generation: Vec<TokenId>,
    add_bos: bool,
    add_eos: bool,
}

impl Tokenizer {
    /// The ids of `text`.
    ///
    /// With `parse_special` the names of control tokens (`<|im_end|>`) in the text become those
    /// tokens; without it they are text like any other, which is what a user's words need. Neither
    /// adds a beginning-of-sequence token: see [`Tokenizer::add_bos`].
    pub fn encode(&self, text: &str, parse_special: bool) -> Vec<TokenId> {
        let mut ids = Vec::new();
        self.encode_into(text, parse_special, &mut ids);
        ids
    }

    /// As [`Tokenizer::encode`], appended to `ids`.
    pub fn encode_into(&self, text: &str, parse_special: bool, ids: &mut Vec<TokenId>) {
        let mut rest = text;
        while !rest.is_empty() {
            let next = self.specials.find(&self.vocabulary, rest, parse_special);
            let text_end = next.map_or(rest.len(), |found| found.start);
            self.encode_text(&rest[..text_end], ids);
            let Some(found) = next else { break };
            ids.push(found.id);
            rest = &rest[found.end..];
        }
    }

    /// What [`Tokenizer::encode`] may take of the heap at its peak, in bytes: an estimate from above.
    ///
    /// SentencePiece merges the whole text at once; byte pairs merge within a piece, which is no longer
    /// than the longest stretch of blanks or of anything else.
    pub fn encoding_bytes(&self, text: &str) -> usize {
        // Symbols, noted merges and ids are vectors that double: old and new are there at once.
        const PER_BYTE_OF_PIECE: usize = 112;
        const PER_BYTE: usize = 16;
        let mut stretch = 0;
        let mut longest = 0;
        let mut was_blank = false;
        for c in text.chars() {
            if c.is_whitespace() != was_blank {
                was_blank = !was_blank;
                stretch = 0;
            }
            stretch += c.len_utf8();
            longest = longest.max(stretch);
        }
        let piece = match self.algorithm {
            Algorithm::BytePair { .. } => longest,
            Algorithm::SentencePiece(_) => text.len(),
        };
        PER_BYTE * text.len() + PER_BYTE_OF_PIECE * piece
    }

    /// Encodes text without any special token.
    fn encode_text(&self, text: &str, ids: &mut Vec<TokenId>) {
        if text.is_empty() {
            return;
        }
        match &self.algorithm {
            Algorithm::BytePair {
                merges,
                pre,
                normalization,
            } => {
                let text = normalization.apply(text);
                let mut word = byte_pair::Word::default();
                pre.for_each_piece(&text, &mut |piece| {
                    merges.encode_piece(&self.vocabulary, piece.as_bytes(), &mut word, ids);
                });
            }
            Algorithm::SentencePiece(pieces) => {
                pieces.encode(&self.vocabulary, self.ids.unknown, text, ids);
            }
        }
    }

    /// The bytes that a token stands for: not always whole characters. A control token gives its
    /// name; an id outside the vocabulary gives nothing.
    pub fn decode_bytes(&self, id: TokenId) -> &[u8] {
        self.vocabulary.bytes(id).unwrap_or_default()
    }

    /// The bytes of a whole sequence. SentencePiece's leading space is taken off again, so that
    /// decoding what was encoded gives the text back.
    pub fn decode(&self, ids: &[TokenId]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &id in ids {
            bytes.extend_from_slice(self.decode_bytes(id));
        }
        if self.has_leading_space() && bytes.first() == Some(&b' ') {
            bytes.remove(0);
        }
        bytes
    }

    /// Whether encoding puts a space before the text (SentencePiece's rule), so that the first
    /// space of a decoded text is not the writer's.
    pub fn has_leading_space(&self) -> bool {
        matches!(&self.algorithm, Algorithm::SentencePiece(pieces) if pieces.adds_space())
    }

    /// Number of tokens.
    pub fn vocab_size(&self) -> usize {
        self.vocabulary.len()
    }

    /// What kind of token this is; `None` outside the vocabulary.
    pub fn kind(&self, id: TokenId) -> Option<TokenKind> {
        self.vocabulary.kind(id)
    }

    /// Whether the token is a mark of the format and not text.
    pub fn is_control(&self, id: TokenId) -> bool {
        self.kind(id) == Some(TokenKind::Control)
    }

    /// The control or user-defined token with this name.
    pub fn special(&self, name: &str) -> Option<TokenId> {
        self.specials.by_name(&self.vocabulary, name.as_bytes())
    }

    /// The beginning-of-sequence token, if the file names one.
    pub fn bos(&self) -> Option<TokenId> {
        self.ids.bos
    }

    /// The end-of-sequence token, if the file names one.
    pub fn eos(&self) -> Option<TokenId> {
        self.ids.eos
    }

    /// Whether a sequence starts with [`Tokenizer::bos`] (`tokenizer.ggml.add_bos_token`).
    pub fn add_bos(&self) -> bool {
        self.ids.add_bos && self.ids.bos.is_some()
    }

    /// Whether a complete document ends with [`Tokenizer::eos`]; a prompt never does.
    pub fn add_eos(&self) -> bool {
        self.ids.add_eos && self.ids.eos.is_some()
    }

    /// Every token that ends an answer, ascending.
    pub fn eog_ids(&self) -> &[TokenId] {
        &self.ids.end_of_generation
    }

    /// Whether the token ends an answer.
    pub fn is_eog(&self, id: TokenId) -> bool {
        self.ids.end_of_generation.binary_search(&id).is_ok()
    }

    /// The kind of tokenizer and of splitting, for people: `gpt2/smollm`, `llama`.
    pub fn description(&self) -> &'static str {
        match &self.algorithm {
            Algorithm::BytePair { pre, .. } => pre.description(),
            Algorithm::SentencePiece(_) => "llama",
        }
    }

    /// Bytes of heap that the tables take.
    pub fn heap_bytes(&self) -> usize {
        self.vocabulary.heap_bytes()
            + match &self.algorithm {
                Algorithm::BytePair { merges, .. } => merges.heap_bytes(),
                Algorithm::SentencePiece(pieces) => pieces.heap_bytes(),
            }
    }
}
