//! What parity checks and perplexity need of a model.

use std::error::Error;

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
