//! Speculative decoding: where the context repeats itself, one pass over the weights serves several
//! tokens.

use parallel::Cores;

use super::{Engine, EngineError, gather};
use crate::batch::Logits;
use crate::lookup::Lookup;
use crate::tokenizer::TokenId;

impl Engine<'_> {
    /// Appends one token and returns its logits: those of [`Engine::decode`] to the bit, in fewer passes
    /// where `lookup` drafts right.
    ///
    /// A pass works in `id` and the draft of what follows it. While the ids of the next calls are the
    /// drafted ones, their logits are there already; the first other one starts a new pass. A drafted
    /// token is not held before it is handed in: [`Engine::pos`] and [`Engine::held`] are always those
    /// of plain decoding, and the caller may stop, or do something else, after any token.
    ///
    /// At most [`LoadOptions::n_logits`](super::LoadOptions::n_logits)` − 1` tokens are drafted, and
    /// fewer at the context's end.
    ///
    /// # Errors
    /// As [`Engine::decode`].
    pub fn decode_speculating(
        &mut self,
        id: TokenId,
        lookup: &mut Lookup,
        cores: &dyn Cores,
    ) -> Result<&[f32], EngineError> {
        let n_held = self.n_ahead_held;
        if n_held > 0 && self.ahead.get(n_held) == Some(&id) {
            lookup.n_accepted += 1;
            self.held.push(id);
            self.n_ahead_held += 1;
            return Ok(self.logits_ahead(n_held));
        }
        self.check(&[id])?;
        let first = self.pos();
        let room = (self.n_logits - 1).min(self.context_len - first - 1);
        self.held.push(id);
        self.ahead.clear();
        self.ahead.push(id);
        self.ahead.extend(lookup.draft(&self.held).take(room));
        self.held.truncate(first);
        let n = self.ahead.len();
        lookup.count_draft(n - 1);
        if n == 1 {
            return self.decode(id, cores);
        }
        let ahead = core::mem::take(&mut self.ahead);
        self.run(&ahead, Logits::All, cores);
        self.ahead = ahead;
        self.held.truncate(first + 1);
        self.n_ahead_held = 1;
        Ok(self.logits_ahead(0))
    }

    /// The logits after token `t` of the last pass with a draft.
    fn logits_ahead(&mut self, t: usize) -> &[f32] {
        gather(self.state.logits.get_mut(), self.ahead.len(), t, self.row);
        self.row
    }
}
