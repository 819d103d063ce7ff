//! Perplexity on a text, beside what other implementations have on it.

use super::Models;
use super::report::Report;
use crate::digest::{self, Sha256};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// WikiText-2's test part with rare words as `<unk>`, the text that the other figures are of.
const WIKITEXT: Sha256 = Sha256("d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0");
/// Its chunks that they are of.
const WIKITEXT_CHUNKS: usize = 40;

/// Rows of other implementations on that text: same weights, same tokens, same scoring.
const OTHERS: &str = "\
| llama.cpp, F32 | f32 | 18.9791 | | | |
| llama.cpp, Q8_0 | f16 | 19.0464 | | 0.003550 | 0.96363 |
| llama.cpp, Q8_0 | f32 | 19.0478 | | 0.003572 | 0.96373 |
| transformers, int8 rounding emulated | f32 | 19.0430 | | 0.003511 | 0.96157 |
| llama.cpp, Q4_1 as shipped | f32 | 19.0019 | | 0.002560 | 0.96716 |
";

/// Measures on the first `chunks` chunks of `text`, and keeps each chunk's numbers in `csv`.
///
/// # Errors
/// A file cannot be read, or the program cannot be started.
pub fn measure(
    report: &mut Report,
    models: &Models,
    text: &Path,
    chunks: usize,
    csv: &Path,
) -> Result<()> {
    let sha256 = digest::sha256(text)?;
    let known = sha256 == WIKITEXT.0 && chunks == WIKITEXT_CHUNKS;
    let name = text.file_name().unwrap_or_default().to_string_lossy();
    report.text(&format!("{METHOD}Text: `{name}`, SHA-256 `{sha256}`.\n\n"));
    let mut ppl = Command::new(&models.pilm);
    ppl.arg("ppl").arg(&models.q8_0).arg(text);
    ppl.arg("--beside").arg(&models.q4_1);
    ppl.arg("--base").arg(&models.f32);
    ppl.args(["--kv", "f16,f32", "--markdown"]);
    ppl.args(["--chunks", &chunks.to_string()]);
    ppl.arg("--per-chunk").arg(csv);
    report.output(
        &format!("Measuring perplexity on {name}, four runs"),
        &mut ppl,
    )?;
    if known {
        report.text(OTHERS);
    }

    let numbers = fs::read_to_string(csv).with_context(|| format!("reading {}", csv.display()))?;
    let runs = runs(&numbers)?;
    let noise = Noise::between(&runs);
    report.text(&noise.sentence());
    if known {
        report.text(LIMITS);
        for run in &runs {
            let limits = if run.model.contains("Q8_0") {
                Limits::Q8_0
            } else {
                Limits::Q4_1
            };
            report.hold(
                &format!("perplexity of {}, {} keys and values", run.model, run.kv),
                limits.hold(run, &noise),
            );
        }
    }
    Ok(())
}

/// One model with one type of keys and values, a number for each chunk.
#[derive(Debug, Default, PartialEq)]
struct Run {
    model: String,
    kv: String,
    base_nll: Vec<f64>,
    kl: Vec<f64>,
    same_top1: Vec<f64>,
}

/// The runs of the program's comma-separated table.
fn runs(csv: &str) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [_, model, kv, _, _, base_nll, kl, same_top1] = cells[..] else {
            anyhow::bail!("{line:?} has not eight columns");
        };
        let at = runs
            .iter()
            .position(|run| run.model == model && run.kv == kv);
        let at = at.unwrap_or_else(|| {
            runs.push(Run {
                model: model.to_owned(),
                kv: kv.to_owned(),
                ..Run::default()
            });
            runs.len() - 1
        });
        let number = |cell: &str| cell.parse::<f64>().with_context(|| line.to_owned());
        runs[at].base_nll.push(number(base_nll)?);
        runs[at].kl.push(number(kl)?);
        runs[at].same_top1.push(number(same_top1)?);
    }
    ensure!(runs.len() >= 2, "{} runs were measured", runs.len());
    Ok(runs)
}

/// Mean and standard error of the mean.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// How far two runs of the first model are apart that round differently and are otherwise one
/// computation: the first less the second, chunk by chunk, each a mean and its standard error.
#[derive(Debug, PartialEq)]
struct Noise {
    kl: (f64, f64),
    same_top1: (f64, f64),
}

impl Noise {
    fn between(runs: &[Run]) -> Noise {
        let paired = |of: fn(&Run) -> &Vec<f64>| {
            let chunks = of(&runs[0]).iter().zip(of(&runs[1]));
            mean(&chunks.map(|(a, b)| a - b).collect::<Vec<_>>())
        };
        Noise {
            kl: paired(|run| &run.kl),
            same_top1: paired(|run| &run.same_top1),
        }
    }

    /// That of one run's KL: a difference's error is √2 times as large.
    fn of_kl(&self) -> f64 {
        self.kl.1 / 2f64.sqrt()
    }

    /// That of one run's top 1.
    fn of_top1(&self) -> f64 {
        self.same_top1.1 / 2f64.sqrt()
    }

    fn sentence(&self) -> String {
        let Noise { kl, same_top1 } = self;
        format!(
            "\nThe two Q8_0 runs differ in the rounding of keys and values, far below that of the activations, and\n\
             are otherwise one computation. Paired over the chunks, KL with f16 less KL with f32 is\n\
             {:+.6} ± {:.6}, the difference of top 1 {:+.5} ± {:.5}. So one run has a noise of {:.6} in\n\
             KL and {:.5} in top 1 at least from the luck of rounding, whatever the text.\n\n",
            kl.0,
            kl.1,
            same_top1.0,
            same_top1.1,
            self.of_kl(),
            self.of_top1()
        )
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

    /// Whether `run` is within the limits, give or take twice the noise of one run.
    fn hold(&self, run: &Run, noise: &Noise) -> bool {
        let base = mean(&run.base_nll).0.exp();
        (base - Self::BASE_PERPLEXITY).abs() <= 0.01
            && mean(&run.kl).0 <= self.kl + 2.0 * noise.of_kl()
            && mean(&run.same_top1).0 >= self.same_top1 - 2.0 * noise.of_top1()
    }
}

const METHOD: &str = "\
ggml's method: chunks of 512 tokens without a beginning-of-sequence token, the second half scored;
mean and standard error over the scored tokens. Δ nll, KL and top 1 are distances from our own F32 run
at the same positions. ";

const LIMITS: &str = "\
Limits: F32 within 0.01 of 18.979; KL at most 0.0036 for Q8_0 and 0.0026 for Q4_1 as shipped, top 1 at
least 0.962 and 0.966, each give or take twice that noise.
";

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "\
chunk,model,kv,tokens,nll,base_nll,kl,same_top1
1,a,f16,255,2.0,1.9,0.004,0.96
1,a,f32,255,2.0,1.9,0.002,0.98
2,a,f16,255,2.0,2.1,0.002,0.97
2,a,f32,255,2.0,2.1,0.002,0.97
";

    #[test]
    fn runs_are_paired_chunk_by_chunk() {
        let runs = runs(CSV).unwrap();
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[0].kl, [0.004, 0.002]);
        let noise = Noise::between(&runs);
        assert!((noise.kl.0 - 0.001).abs() < 1e-12 && (noise.kl.1 - 0.001).abs() < 1e-12);
        assert!((noise.of_kl() - 0.001 / 2f64.sqrt()).abs() < 1e-12);
        assert!((noise.same_top1.0 + 0.01).abs() < 1e-12);
    }

    #[test]
    fn limits_see_each_number() {
        let run = |base: f64, kl, same_top1| Run {
            base_nll: vec![base.ln(); 2],
            kl: vec![kl; 2],
            same_top1: vec![same_top1; 2],
            ..Run::default()
        };
        let error = 2f64.sqrt();
        let noise = Noise {
            kl: (0.0, 0.00001 * error),
            same_top1: (0.0, 0.001 * error),
        };
        let holds = |base, kl, same_top1| Limits::Q4_1.hold(&run(base, kl, same_top1), &noise);
        assert!(holds(18.98, 0.0025, 0.967));
        assert!(holds(18.98, 0.002615, 0.967));
        assert!(!holds(18.99, 0.0025, 0.967));
        assert!(!holds(18.98, 0.002625, 0.967));
        assert!(holds(18.98, 0.0025, 0.9645));
        assert!(!holds(18.98, 0.0025, 0.9635));
    }

    #[test]
    fn a_damaged_table_is_an_error() {
        assert!(runs("chunk\n").is_err());
        assert!(runs("chunk\n1,2\n").is_err());
        assert!(runs("chunk\n1,a,f16,255,x,y,z,w\n").is_err());
    }
}
