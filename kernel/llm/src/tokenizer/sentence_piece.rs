//! SentencePiece BPE: neighbours merge into the token with the highest score.
//!
//! The text is one piece, with a space put before it. A character without a token becomes its
//! bytes' tokens. Spaces stand for SentencePiece's `▁` (U+2581) throughout: the vocabulary is
//! stored that way, and a `▁` in the text is a space to the model.
//!
//! Resources: Kudo and Richardson 2018, arXiv:1808.06226; the published Llama-2 `tokenizer.json`.

use alloc::string::String;
use alloc::vec::Vec;

use super::TokenId;
use super::vocabulary::Vocabulary;
use super::word::Word;

/// SentencePiece's visible space.
pub(super) const VISIBLE_SPACE: char = '▁';

/// Scores and byte tokens of a SentencePiece tokenizer.
#[derive(Debug)]
pub(super) struct SentencePiece {
    /// Of every token; higher merges first.
    pub(super) scores: Vec<f32>,
    /// `<0x00>` to `<0xFF>`, where the vocabulary has them.
    pub(super) byte_tokens: [Option<TokenId>; 256],
    /// Whether a space is put before the text.
    pub(super) adds_space: bool,
}

/// An integer whose order is the score's, reversed.
fn descending(score: f32) -> u32 {
    let bits = score.to_bits();
    // Positive floats sort as their bits, negative ones the other way round.
    if bits >> 31 == 0 {
        !(bits | 1 << 31)
    } else {
        bits
    }
}

impl SentencePiece {
    /// Appends the ids of a text that has no special token in it.
    pub(super) fn encode(
        &self,
        vocabulary: &Vocabulary,
        unknown: Option<TokenId>,
        text: &str,
        ids: &mut Vec<TokenId>,
    ) {
        let mut normalised = String::with_capacity(text.len() + 1);
        if self.adds_space {
            normalised.push(' ');
        }
        normalised.extend(
            text.chars()
                .map(|c| if c == VISIBLE_SPACE { ' ' } else { c }),
        );
        let characters = || {
            let starts = normalised.char_indices();
            starts.map(|(start, c)| &normalised.as_bytes()[start..start + c.len_utf8()])
        };
        let mut both = Vec::new();
        let rule = |first, second| {
            both.clear();
            for id in [first, second] {
                both.extend_from_slice(vocabulary.bytes(id));
            }
            let merged = vocabulary.find(&both)?;
            Some((descending(self.scores[merged.index()]), merged))
        };
        let mut word = Word::default();
        let tokens = characters().map(|bytes| vocabulary.find(bytes));
        let mut characters = characters().enumerate();
        let mut last_unknown = false;
        for (place, id) in word.merge(tokens, normalised.len(), rule) {
            if let Some(id) = id {
                ids.push(id);
                last_unknown = false;
                continue;
            }
            let character = characters.find(|(i, _)| *i == place);
            let (_, bytes) = character.unwrap_or_default();
            let tokens = bytes
                .iter()
                .map(|&byte| self.byte_tokens[usize::from(byte)]);
            if tokens.clone().all(|token| token.is_some()) {
                ids.extend(tokens.flatten());
                last_unknown = false;
            } else if let Some(unknown) = unknown
                && !last_unknown
            {
                // Neighbouring unknown characters are one unknown token.
                ids.push(unknown);
                last_unknown = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_scores_come_first() {
        let mut scores = [-3.0, 2.5, 0.0, -1.5, f32::NEG_INFINITY, 1.0];
        scores.sort_by_key(|&score| descending(score));
        assert_eq!(scores, [2.5, 1.0, 0.0, -1.5, -3.0, f32::NEG_INFINITY]);
    }
}
