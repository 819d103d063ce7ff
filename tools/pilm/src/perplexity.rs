//! Perplexity as ggml's tool measures it, and the distance from a base run at the same positions.
//!
//! What is scored, and how, is [`llm::perplexity`]'s.

use llm::perplexity::first_scored;
use serde::{Deserialize, Serialize};

use crate::decoder::Decoder;
use crate::metrics::{Distribution, Mean};
use crate::parity::tables;

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
}

impl Progress {
    /// Takes in one position: what was found, what the base run has there, and the token that follows.
    fn add(&mut self, found: &Distribution<'_>, base: Option<&Distribution<'_>>, next: u32) {
        let nll = found.nll(next);
        let versus = base.map(|base| {
            let same_top1 = base.argmax() == found.argmax();
            (base.nll(next), base.divergence_of(found), same_top1)
        });
        for sums in [&mut self.chunk, &mut self.so_far] {
            sums.nll.add(nll);
            if let Some((base_nll, kl, same_top1)) = versus {
                let versus = sums.versus_base.get_or_insert_default();
                versus.nll.add(base_nll);
                versus.nll_difference.add(nll - base_nll);
                versus.kl.add(kl);
                versus.top1.add(f64::from(same_top1));
            }
        }
    }
}

/// A mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

impl From<&Mean> for Estimate {
    fn from(mean: &Mean) -> Estimate {
        let (mean, error) = (mean.mean(), mean.standard_error());
        Estimate { mean, error }
    }
}

/// One model with one type of keys and values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its file.
    pub model: String,
    /// How keys and values were stored.
    pub kv: String,
    /// Over all scored tokens.
    pub perplexity: Estimate,
    /// From the base run; none for that itself.
    pub distance: Option<Distance>,
}

/// All runs on a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Tokens of the text.
    pub n_tokens: usize,
    /// Chunks of it that were run.
    pub n_chunks: usize,
    /// Tokens of each.
    pub chunk_len: usize,
    /// The base run first, if there was one.
    pub runs: Vec<Run>,
    /// How far the first two others are apart.
    pub noise: Option<Noise>,
}

/// How far two runs are apart that round differently and are otherwise one computation: the first less
/// the second, chunk by chunk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// In their divergence from the base run.
    pub kl: Estimate,
    /// In the share of positions with the base run's greatest logit.
    pub same_top1: Estimate,
}

impl Noise {
    /// That of one run's divergence: a difference's error is √2 times as large.
    pub fn of_kl(&self) -> f64 {
        self.kl.error / 2f64.sqrt()
    }

    /// That of one run's share.
    pub fn of_top1(&self) -> f64 {
        self.same_top1.error / 2f64.sqrt()
    }
}

/// The noise of two runs, while their chunks come.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairedChunks {
    kl: Mean,
    same_top1: Mean,
}

impl PairedChunks {
    /// Takes in a chunk of all runs; only the first two count.
    pub fn add(&mut self, progress: &[Progress]) {
        if let [first, second, ..] = progress
            && let (Some(a), Some(b)) = (first.chunk.versus_base, second.chunk.versus_base)
        {
            self.kl.add(a.kl.mean() - b.kl.mean());
            self.same_top1.add(a.top1.mean() - b.top1.mean());
        }
    }

    /// None with less than two runs, or without a base run.
    pub fn noise(&self) -> Option<Noise> {
        (self.kl.n() > 0).then(|| Noise {
            kl: (&self.kl).into(),
            same_top1: (&self.same_top1).into(),
        })
    }
}

/// Distance of a run from the base run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// The difference in `−ln p`.
    pub nll: Estimate,
    /// Divergence.
    pub kl: Estimate,
    /// Share of positions with the same greatest logit.
    pub same_top1: f64,
}

impl Run {
    /// A run with numbers for `nll`, and `versus` a base run.
    pub fn new(model: &str, kv: &str, nll: &Mean, versus: Option<&VersusBase>) -> Run {
        Run {
            model: model.to_owned(),
            kv: kv.to_owned(),
            perplexity: Estimate {
                mean: llm::perplexity::perplexity(nll),
                error: llm::perplexity::standard_error(nll),
            },
            distance: versus.map(|versus| Distance {
                nll: (&versus.nll_difference).into(),
                kl: (&versus.kl).into(),
                same_top1: versus.top1.mean(),
            }),
        }
    }
}

/// A Markdown table, one row a run.
pub fn table(runs: &[Run]) -> String {
    let mut table = tables::head(&[
        "model",
        "keys and values",
        "perplexity",
        "Δ nll",
        "KL",
        "same top 1",
    ]);
    for Run {
        model,
        kv,
        perplexity,
        distance,
    } in runs
    {
        let Estimate { mean, error } = perplexity;
        let distance = distance.map_or("| |".into(), |Distance { nll, kl, same_top1 }| {
            let (nll, nll_error) = (nll.mean, nll.error);
            format!(
                "{nll:+.6} ± {nll_error:.6} | {:.6} ± {:.6} | {same_top1:.5}",
                kl.mean, kl.error
            )
        });
        table += &format!("| {model} | {kv} | {mean:.4} ± {error:.4} | {distance} |\n");
    }
    table
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
                progress.add(&Distribution::new(logits), base.get(pos - first), *next);
            })?;
        }
        each_chunk(n + 1, &progress)?;
    }
    Ok(progress.iter().map(|progress| progress.so_far).collect())
}

#[cfg(test)]
mod tests;
