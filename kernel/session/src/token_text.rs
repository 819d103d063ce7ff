//! Tokens to text.

use crate::event_queue::EventQueue;
use crate::utf8::Utf8Stream;
use llm::chat::Thinking;
use llm::tokenizer::{TokenId, Tokenizer};

/// Turns tokens into whole characters.
pub(crate) struct TokenText {
    stream: Utf8Stream,
    /// Whether the next token's leading space is the tokenizer's and not the answer's.
    trim: bool,
    thinking: Thinking,
}

impl TokenText {
    /// At the beginning of an answer; `trim` takes a leading space off.
    pub fn new(trim: bool, tokenizer: &Tokenizer) -> Self {
        Self {
            stream: Utf8Stream::new(),
            trim,
            thinking: Thinking::new(tokenizer),
        }
    }

    /// Passes a token on. Control tokens have a name but no text.
    pub fn pass_on(&mut self, id: TokenId, tokenizer: &Tokenizer, out: &mut EventQueue) {
        let is_thinking = self.thinking.is_thinking(id);
        out.token(id.0, is_thinking, |text| {
            if tokenizer.is_control(id) {
                return;
            }
            let mut bytes = tokenizer.decode_bytes(id);
            if core::mem::take(&mut self.trim) {
                bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
            }
            self.stream.push(bytes, &mut |piece| text.push_str(piece));
        });
    }

    /// Passes on what was held back.
    pub fn finish(&mut self, out: &mut EventQueue) {
        out.rest(|text| self.stream.finish(&mut |piece| text.push_str(piece)));
    }
}
