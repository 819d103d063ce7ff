//! Perplexity as ggml's tool measures it, and the distance from a base run at the same positions.
//!
//! What is scored, and how, is [`llm::perplexity`]'s.

use llm::perplexity::first_scored;

use crate::decoder::Decoder;
use crate::metrics::{Mean, argmax, kl_divergence, nll};

/// What was measured, over all scored tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Perplexity {
    /// `−ln p` of the scored tokens.
    pub nll: Mean,
    /// Against the base run, if there was one.
    pub versus_base: Option<VersusBase>,
}

/// Distance from the base run at the scored positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct VersusBase {
    /// `−ln p` in the base run.
    pub nll: Mean,
    /// The difference of the two.
    pub nll_difference: Mean,
    /// Divergence from the base run.
    pub kl: Mean,
    /// 1 where the greatest logit is the same token.
    pub top1: Mean,
}

impl Perplexity {
    /// `exp` of the mean.
    pub fn value(&self) -> f64 {
        llm::perplexity::perplexity(&self.nll)
    }

    /// Standard error of [`Perplexity::value`], to first order.
    pub fn standard_error(&self) -> f64 {
        llm::perplexity::standard_error(&self.nll)
    }
}

/// Measures `decoder`, and its distance from `base`, on the first `n_chunks` chunks of `ids`.
///
/// `progress` gets the results so far after each chunk.
///
/// # Errors
/// Those of the decoders.
pub fn perplexity<D: Decoder, B: Decoder>(
    decoder: &mut D,
    mut base: Option<&mut B>,
    ids: &[u32],
    chunk_len: usize,
    n_chunks: usize,
    progress: &mut dyn FnMut(usize, &Perplexity),
) -> anyhow::Result<Perplexity> {
    let mut result = Perplexity::default();
    let first = first_scored(chunk_len);
    for (n, chunk) in ids.chunks_exact(chunk_len).take(n_chunks).enumerate() {
        let mut base_logits = Vec::new();
        if let Some(base) = &mut base {
            base.prefill(chunk, first, &mut |_, logits| {
                base_logits.push(logits.to_vec())
            })?;
        }
        decoder.prefill(chunk, first, &mut |pos, logits| {
            let Some(next) = chunk.get(pos + 1) else {
                return;
            };
            let found = nll(logits, *next);
            result.nll.add(found);
            if let Some(base) = base_logits.get(pos - first) {
                let versus = result.versus_base.get_or_insert_default();
                let base_nll = nll(base, *next);
                versus.nll.add(base_nll);
                versus.nll_difference.add(found - base_nll);
                versus.kl.add(kl_divergence(base, logits));
                versus.top1.add(f64::from(argmax(base) == argmax(logits)));
            }
        })?;
        progress(n + 1, &result);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::perplexity;
    use crate::decoder::Decoder;
    use std::convert::Infallible;

    /// Gives the token after `id`, modulo 8, a logit of `certainty`, all others 0.
    struct Counting {
        certainty: f32,
        prefills: Vec<(usize, usize)>,
    }

    impl Decoder for Counting {
        type Error = Infallible;

        fn prefill(
            &mut self,
            ids: &[u32],
            from: usize,
            each: &mut dyn FnMut(usize, &[f32]),
        ) -> Result<(), Infallible> {
            self.prefills.push((ids.len(), from));
            for (pos, id) in ids.iter().enumerate().skip(from) {
                let mut logits = [0.0; 8];
                logits[(id + 1) as usize % 8] = self.certainty;
                each(pos, &logits);
            }
            Ok(())
        }

        fn decode(&mut self, _: u32) -> Result<Vec<f32>, Infallible> {
            Ok(vec![0.0; 8])
        }
    }

    #[test]
    fn the_second_half_of_each_whole_chunk_is_scored() {
        let ids: Vec<u32> = (0..42).map(|n| n % 8).collect();
        let mut sure = Counting {
            certainty: 20.0,
            prefills: Vec::new(),
        };
        let mut unsure = Counting {
            certainty: 0.0,
            prefills: Vec::new(),
        };
        let mut calls = Vec::new();
        let result = perplexity(&mut unsure, Some(&mut sure), &ids, 20, 9, &mut |n, _| {
            calls.push(n);
        })
        .unwrap();
        assert_eq!(calls, [1, 2]);
        assert_eq!(unsure.prefills, [(20, 10), (20, 10)]);
        // Positions 10..=18 score tokens 11..=19, in two chunks.
        assert_eq!(result.nll.n(), 18);
        assert!((result.value() - 8.0).abs() < 1e-9);
        assert!(result.standard_error() < 1e-6);
        let versus = result.versus_base.unwrap();
        assert!(versus.nll.mean() < 1e-6);
        assert!((versus.kl.mean() - 8f64.ln()).abs() < 1e-5);
        // Without any certainty the first token wins, which is right once in each chunk's half.
        assert_eq!(versus.top1.mean(), 2.0 / 18.0);
    }
}
