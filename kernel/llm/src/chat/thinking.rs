//! What a model thinks before it answers: the tokens from `<think>` to `</think>`.

use alloc::vec::Vec;

use super::{ChatTemplate, Family};
use crate::tokenizer::{TokenId, Tokenizer};

/// Before what a model thinks.
pub(super) const BEGIN: &str = "<think>";
/// Behind it.
pub(super) const END: &str = "</think>";
/// What a template puts before an answer without a thought, and between a thought and the answer.
pub(super) const GAP: &str = "\n\n";

/// Which tokens of an answer are thinking.
#[derive(Clone, Debug)]
pub struct Thinking {
    begin: Option<TokenId>,
    end: Option<TokenId>,
    inside: bool,
}

impl Thinking {
    /// At the beginning of an answer. Without marks in the vocabulary nothing is thinking.
    pub fn new(tokenizer: &Tokenizer) -> Self {
        Thinking {
            begin: tokenizer.special(BEGIN),
            end: tokenizer.special(END),
            inside: false,
        }
    }

    /// Whether `id`, the answer's next token, is thinking. The marks are.
    pub fn is_thinking(&mut self, id: TokenId) -> bool {
        let was_inside = self.inside;
        self.inside = match Some(id) {
            id if id == self.begin => true,
            id if id == self.end => false,
            _ => was_inside,
        };
        was_inside || self.inside
    }
}

impl ChatTemplate {
    /// Whether the template has a switch that lets the model think or keeps it from it.
    pub fn can_think(&self) -> bool {
        self.family == Family::Qwen3
    }

    /// Takes what was thought out of the last turn of `ids`, an answer: templates leave it out of turns that
    /// are past. [`ChatTemplate::render_follow_up`] goes on from there.
    pub fn forget_thinking(&self, tokenizer: &Tokenizer, ids: &mut Vec<TokenId>) {
        let marks = tokenizer
            .special("<|im_start|>")
            .zip(tokenizer.special(END));
        let Some((turn, end)) = marks.filter(|_| self.can_think()) else {
            return;
        };
        let header = tokenizer.encode("assistant\n", false);
        let start = ids.iter().rposition(|id| *id == turn);
        let Some(start) = start.filter(|at| ids[at + 1..].starts_with(&header)) else {
            return;
        };
        let start = start + 1 + header.len();
        let Some(last) = ids[start..].iter().rposition(|id| *id == end) else {
            return;
        };
        let is_gap = |id: &&TokenId| {
            tokenizer
                .decode_bytes(**id)
                .iter()
                .all(|byte| *byte == b'\n')
        };
        let said = start + last + 1;
        let said = said + ids[said..].iter().take_while(is_gap).count();
        ids.drain(start..said);
    }
}

/// What an answer says after its last thought.
pub(super) fn said(answer: &str) -> &str {
    let after = answer.rsplit_once(END);
    after.map_or(answer, |(_, said)| said.trim_start_matches('\n'))
}
