//! Perplexity on a text.

use super::{Models, results};
use crate::digest;
use crate::voice::Voice;
use anyhow::{Context, Result};
use pilm::perplexity::{Measured, Noise, Run, table};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

/// WikiText-2's test part with rare words as `<unk>`, the text that the limits and other programs' figures are for.
const WIKITEXT: &str = "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0";
/// Its chunks that they are for.
const WIKITEXT_CHUNKS: usize = 40;

/// What was measured, and on which text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnText {
    text: String,
    sha256: String,
    measured: Measured,
}

/// Measures on the first `chunks` chunks of `text`; limits that do not hold are noted in `failed`.
///
/// # Errors
/// A file cannot be read, or the program fails.
pub fn measure(
    voice: Voice,
    models: &Models,
    text: &Path,
    chunks: usize,
    failed: &mut Vec<String>,
) -> Result<OnText> {
    let sha256 = digest::sha256(text)?;
    let name = text.file_name().unwrap_or_default().to_string_lossy();
    let mut ppl = Command::new(&models.pilm);
    ppl.arg("ppl").arg(&models.q8_0).arg(text);
    ppl.arg("--beside").arg(&models.q4_1);
    ppl.arg("--base").arg(&models.f32);
    ppl.args(["--kv", "f16,f32", "--json", "--chunks", &chunks.to_string()]);
    let what = format!("Measuring perplexity on {name}, four runs");
    let measured: Measured = results(voice, &what, &mut ppl, failed)?;
    if sha256 == WIKITEXT && chunks == WIKITEXT_CHUNKS {
        let noise = measured.noise.context("no two runs were measured")?;
        let base = measured.runs.first().context("no run was measured")?;
        for run in &measured.runs[1..] {
            let limits = if run.model.contains("Q8_0") {
                Limits::Q8_0
            } else {
                Limits::Q4_1
            };
            if !limits.hold(base, run, &noise) {
                failed.push(format!(
                    "perplexity of {}, {} keys and values",
                    run.model, run.kv
                ));
            }
        }
    }
    Ok(OnText {
        text: name.into_owned(),
        sha256,
        measured,
    })
}

impl OnText {
    /// The page's section with the runs, and that with their noise.
    pub fn sections(&self) -> [String; 2] {
        let OnText {
            text,
            sha256,
            measured,
        } = self;
        let runs = format!(
            "Text: `{text}`, SHA-256 `{sha256}`.\n\n{} tokens, {} chunks of {}\n\n{}",
            measured.n_tokens,
            measured.n_chunks,
            measured.chunk_len,
            table(&measured.runs)
        );
        let noise = measured.noise.map_or_else(String::new, |noise| {
            let Noise { kl, same_top1 } = noise;
            format!(
                "Paired over the chunks, KL with f16 less KL with f32 is\n\
                 {:+.6} ± {:.6}, the difference of top 1 {:+.5} ± {:.5}. So one run has a noise of {:.6} in\n\
                 KL and {:.5} in top 1 at least from the luck of rounding, whatever the text.\n",
                kl.mean,
                kl.error,
                same_top1.mean,
                same_top1.error,
                noise.of_kl(),
                noise.of_top1()
            )
        });
        [runs, noise]
    }
}

/// Limits on the known text.
struct Limits {
    kl: f64,
    same_top1: f64,
}

impl Limits {
    const Q8_0: Limits = Limits {
        kl: 0.0036,
        same_top1: 0.962,
    };
    const Q4_1: Limits = Limits {
        kl: 0.0026,
        same_top1: 0.966,
    };
    const BASE_PERPLEXITY: f64 = 18.979;

    /// Whether `run` is within the limits, give or take twice the noise of one run, and `base` is the known one.
    fn hold(&self, base: &Run, run: &Run, noise: &Noise) -> bool {
        (base.perplexity.mean - Self::BASE_PERPLEXITY).abs() <= 0.01
            && run.distance.is_some_and(|distance| {
                distance.kl.mean <= self.kl + 2.0 * noise.of_kl()
                    && distance.same_top1 >= self.same_top1 - 2.0 * noise.of_top1()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilm::perplexity::{Distance, Estimate};

    #[test]
    fn limits_see_each_number() {
        let about = |mean| Estimate { mean, error: 0.0 };
        let run = |perplexity, distance| Run {
            model: String::new(),
            kv: String::new(),
            perplexity: about(perplexity),
            distance,
        };
        let error = |error| Estimate {
            mean: 0.0,
            error: error * 2f64.sqrt(),
        };
        let noise = Noise {
            kl: error(0.00001),
            same_top1: error(0.001),
        };
        let holds = |base, kl, same_top1| {
            let distance = Distance {
                nll: about(0.0),
                kl: about(kl),
                same_top1,
            };
            Limits::Q4_1.hold(&run(base, None), &run(19.0, Some(distance)), &noise)
        };
        assert!(holds(18.98, 0.0025, 0.967));
        assert!(holds(18.98, 0.002615, 0.967));
        assert!(!holds(18.99, 0.0025, 0.967));
        assert!(!holds(18.98, 0.002625, 0.967));
        assert!(holds(18.98, 0.0025, 0.9645));
        assert!(!holds(18.98, 0.0025, 0.9635));
        assert!(!Limits::Q4_1.hold(&run(18.98, None), &run(19.0, None), &noise));
    }
}
