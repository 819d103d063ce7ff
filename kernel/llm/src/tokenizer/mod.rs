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
mod word;

use alloc::vec::Vec;

use byte_pair::Merges;
pub use error::Error;
use pretokenize::PreTokenizer;
use sentence_piece::SentencePiece;
use special::Specials;
pub use token::{TokenId, TokenKind};
use vocabulary::Vocabulary;
use word::Word;

/// A model's tokenizer. It owns what it needs; the file's header can go.
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
    algorithm: Algorithm,
    specials: Specials,
    bos: Option<TokenId>,
    eos: Option<TokenId>,
    unknown: Option<TokenId>,
    /// Every id that ends an answer, ascending.
    end_of_generation: Vec<TokenId>,
    add_bos: bool,
}

#[derive(Debug)]
enum Algorithm {
    /// `tokenizer.ggml.model` is `gpt2`.
    BytePair { merges: Merges, pre: PreTokenizer },
    /// `tokenizer.ggml.model` is `llama`.
    SentencePiece(SentencePiece),
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
        while let Some((id, found)) = self.specials.find(&self.vocabulary, rest, parse_special) {
            self.encode_text(&rest[..found.start], ids);
            ids.push(id);
            rest = &rest[found.end..];
        }
        self.encode_text(rest, ids);
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
            Algorithm::BytePair { merges, pre } => {
                let text = pre.normalize(text);
                let mut word = Word::default();
                pre.for_each_piece(&text, &mut |piece| {
                    merges.encode_piece(&self.vocabulary, piece.as_bytes(), &mut word, ids);
                });
            }
            Algorithm::SentencePiece(pieces) => {
                pieces.encode(&self.vocabulary, self.unknown, text, ids);
            }
        }
    }

    /// The bytes that a token stands for: not always whole characters. A control token gives its
    /// name; an id outside the vocabulary gives nothing.
    pub fn decode_bytes(&self, id: TokenId) -> &[u8] {
        self.vocabulary.bytes(id)
    }

    /// The bytes of a whole sequence. SentencePiece's leading space is taken off again, so that
    /// decoding what was encoded gives the text back.
    pub fn decode(&self, ids: &[TokenId]) -> Vec<u8> {
        let each = ids.iter().flat_map(|id| self.decode_bytes(*id));
        let mut bytes: Vec<u8> = each.copied().collect();
        if self.has_leading_space() && bytes.first() == Some(&b' ') {
            bytes.remove(0);
        }
        bytes
    }

    /// Whether encoding puts a space before the text (SentencePiece's rule), so that the first
    /// space of a decoded text is not the writer's.
    pub fn has_leading_space(&self) -> bool {
        matches!(&self.algorithm, Algorithm::SentencePiece(pieces) if pieces.adds_space)
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
        self.bos
    }

    /// The end-of-sequence token, if the file names one.
    pub fn eos(&self) -> Option<TokenId> {
        self.eos
    }

    /// Whether a sequence starts with [`Tokenizer::bos`] (`tokenizer.ggml.add_bos_token`).
    pub fn add_bos(&self) -> bool {
        self.add_bos && self.bos.is_some()
    }

    /// Every token that ends an answer, ascending.
    pub fn eog_ids(&self) -> &[TokenId] {
        &self.end_of_generation
    }

    /// Whether the token ends an answer.
    pub fn is_eog(&self, id: TokenId) -> bool {
        self.end_of_generation.binary_search(&id).is_ok()
    }

    /// The kind of tokenizer and of splitting, for people: `gpt2/smollm`, `llama`.
    pub fn description(&self) -> &'static str {
        match &self.algorithm {
            Algorithm::BytePair { pre, .. } => pre.description(),
            Algorithm::SentencePiece(_) => "llama",
        }
    }
}
