//! Where a conversation is written: token ids, or text.

use alloc::string::String;
use alloc::vec::Vec;

use crate::tokenizer::{TokenId, Tokenizer};

/// Takes a conversation piece by piece.
pub(super) trait Prompt {
    /// A mark of the format.
    fn mark(&mut self, name: &str);
    /// What somebody wrote, or fixed text between marks.
    fn text(&mut self, text: &str);
    /// The beginning of a sequence.
    fn bos(&mut self);
    /// The end of a sequence.
    fn eos(&mut self);
}

/// Writes token ids. Text is collected until the next mark and encoded in one go, because words
/// may run across the pieces.
pub(super) struct IdPrompt<'t> {
    tokenizer: &'t Tokenizer,
    text: String,
    ids: Vec<TokenId>,
}

impl<'t> IdPrompt<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer) -> Self {
        IdPrompt {
            tokenizer,
            text: String::new(),
            ids: Vec::new(),
        }
    }

    pub(super) fn finish(mut self) -> Vec<TokenId> {
        self.flush();
        self.ids
    }

    fn flush(&mut self) {
        self.tokenizer.encode_into(&self.text, false, &mut self.ids);
        self.text.clear();
    }

    fn push(&mut self, id: Option<TokenId>) {
        if let Some(id) = id {
            self.flush();
            self.ids.push(id);
        }
    }
}

impl Prompt for IdPrompt<'_> {
    fn mark(&mut self, name: &str) {
        match self.tokenizer.special(name) {
            None => self.text.push_str(name),
            id => self.push(id),
        }
    }

    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn bos(&mut self) {
        self.push(self.tokenizer.bos());
    }

    fn eos(&mut self) {
        self.push(self.tokenizer.eos());
    }
}

/// Writes text, marks by their names.
pub(super) struct TextPrompt<'n> {
    bos: &'n str,
    eos: &'n str,
    text: String,
}

impl<'n> TextPrompt<'n> {
    pub(super) fn new(bos: &'n str, eos: &'n str) -> Self {
        TextPrompt {
            bos,
            eos,
            text: String::new(),
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

impl Prompt for TextPrompt<'_> {
    fn mark(&mut self, name: &str) {
        self.text.push_str(name);
    }

    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn bos(&mut self) {
        self.text.push_str(self.bos);
    }

    fn eos(&mut self) {
        self.text.push_str(self.eos);
    }
}
