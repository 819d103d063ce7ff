//! What parity checks and perplexity need of a model.

use std::convert::Infallible;
use std::error::Error;

use crate::reference::Reference;

/// Anything that turns token ids into logits.
pub trait Decoder {
    /// Why it may fail.
    type Error: Error + Send + Sync + 'static;

    /// Starts over with `ids` and hands the logits after each of them, from position `from` on, to
    /// `each`.
    ///
    /// # Errors
    /// The decoder's own, such as a context that is too short.
    fn prefill(
        &mut self,
        ids: &[u32],
        from: usize,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), Self::Error>;

    /// Appends `id` and gives the logits after it.
    ///
    /// # Errors
    /// The decoder's own, such as a full context.
    fn decode(&mut self, id: u32) -> Result<Vec<f32>, Self::Error>;
}

/// The f64 decoder, which computes the whole sequence anew for every token.
pub struct Recomputing {
    reference: Reference,
    ids: Vec<u32>,
}

impl Recomputing {
    /// A decoder at position 0.
    pub fn new(reference: Reference) -> Recomputing {
        Recomputing {
            reference,
            ids: Vec::new(),
        }
    }
}

impl Decoder for Recomputing {
    type Error = Infallible;

    fn prefill(
        &mut self,
        ids: &[u32],
        from: usize,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), Infallible> {
        self.ids = ids.to_vec();
        for (pos, logits) in self.reference.logits(ids).iter().enumerate().skip(from) {
            each(pos, &rounded(logits));
        }
        Ok(())
    }

    fn decode(&mut self, id: u32) -> Result<Vec<f32>, Infallible> {
        self.ids.push(id);
        Ok(self
            .reference
            .logits(&self.ids)
            .last()
            .map(|l| rounded(l))
            .unwrap_or_default())
    }
}

fn rounded(logits: &[f64]) -> Vec<f32> {
    logits.iter().map(|v| *v as f32).collect()
}
