//! Perplexity as ggml's tool measures it, and the distance from a base run at the same positions.
//!
//! What is scored, and how, is [`llm::perplexity`]'s.

use llm::perplexity::first_scored;

use crate::decoder::Decoder;
use crate::metrics::{Distribution, Mean};

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

/// One decoder's numbers after a chunk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Of this chunk alone.
    pub chunk: Perplexity,
    /// Of all chunks so far.
    pub so_far: Perplexity,
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

    fn add(&mut self, score: &Score) {
        self.nll.add(score.nll);
        if let Some(base) = &score.base {
            let versus = self.versus_base.get_or_insert_default();
            versus.nll.add(base.nll);
            versus.nll_difference.add(score.nll - base.nll);
            versus.kl.add(base.kl);
            versus.top1.add(f64::from(base.same_top1));
        }
    }
}

/// One position.
struct Score {
    nll: f64,
    base: Option<BaseScore>,
}

struct BaseScore {
    nll: f64,
    kl: f64,
    same_top1: bool,
}

impl Score {
    fn new(logits: &[f32], base: Option<&Distribution<'_>>, next: u32) -> Score {
        let found = Distribution::new(logits);
        Score {
            nll: found.nll(next),
            base: base.map(|base| BaseScore {
                nll: base.nll(next),
                kl: base.divergence_of(&found),
                same_top1: base.argmax() == found.argmax(),
            }),
        }
    }
}

/// Measures each of `decoders`, and their distances from one run of `base`, on the first `n_chunks`
/// chunks of `ids`.
///
/// `each_chunk` gets how many are done, and each decoder's numbers.
///
/// # Errors
/// Those of the decoders and of `each_chunk`.
pub fn perplexity<D: Decoder>(
    mut base: Option<&mut D>,
    decoders: &mut [D],
    ids: &[u32],
    chunk_len: usize,
    n_chunks: usize,
    each_chunk: &mut dyn FnMut(usize, &[Progress]) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Perplexity>> {
    let mut progress = vec![Progress::default(); decoders.len()];
    let first = first_scored(chunk_len);
    for (n, chunk) in ids.chunks_exact(chunk_len).take(n_chunks).enumerate() {
        let mut base_logits = Vec::new();
        if let Some(base) = &mut base {
            base.prefill(chunk, first, &mut |_, logits| {
                base_logits.push(logits.to_vec())
            })?;
        }
        let base: Vec<_> = base_logits.iter().map(|l| Distribution::new(l)).collect();
        for (decoder, progress) in decoders.iter_mut().zip(&mut progress) {
            progress.chunk = Perplexity::default();
            decoder.prefill(chunk, first, &mut |pos, logits| {
                let Some(next) = chunk.get(pos + 1) else {
                    return;
                };
                let score = Score::new(logits, base.get(pos - first), *next);
                progress.chunk.add(&score);
                progress.so_far.add(&score);
            })?;
        }
        each_chunk(n + 1, &progress)?;
    }
    Ok(progress.iter().map(|progress| progress.so_far).collect())
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
        let decoders = std::slice::from_mut(&mut unsure);
        let results = perplexity(
            Some(&mut sure),
            decoders,
            &ids,
            20,
            9,
            &mut |n, progress| {
                calls.push((n, progress[0].chunk.nll.n(), progress[0].so_far.nll.n()));
                Ok(())
            },
        )
        .unwrap();
        // Positions 10..=18 score tokens 11..=19, in two chunks.
        assert_eq!(calls, [(1, 9, 9), (2, 9, 18)]);
        assert_eq!(unsure.prefills, [(20, 10), (20, 10)]);
        let [result] = results[..] else {
            panic!("one decoder, one result");
        };
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
