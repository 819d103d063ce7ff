//! Stored results of another implementation: one JSON file, with logit vectors beside it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::npy;

/// The prompts of a `golden.json`.
#[derive(Debug, Deserialize)]
pub struct Golden {
    /// In the file's order.
    pub items: Vec<Prompt>,
}

/// A prompt and what the other implementation made of it.
#[derive(Debug, Deserialize)]
pub struct Prompt {
    /// Short name.
    pub name: String,
    /// Token ids, without any that a tokenizer would add.
    pub ids: Vec<u32>,
    /// Ids and logits of the 20 greatest logits after the last id.
    pub top20: Vec<(u32, f32)>,
    /// Id of the greatest logit after each id.
    pub argmax_per_position: Vec<u32>,
    /// `−ln p` of each id but the first.
    pub nll_next_token_per_position: Vec<f64>,
    /// The ids that follow by always taking the greatest logit.
    pub greedy_ids: Vec<u32>,
    /// At each of these the distance of the two greatest logits.
    pub greedy_margin: Vec<f64>,
    /// What rounding alone does on this prompt, where it has been emulated.
    pub rounding: Option<Rounding>,
    last_logits_npy: Option<String>,
    /// All logits after the last id, where they are stored.
    #[serde(skip)]
    pub last_logits: Option<Vec<f32>>,
}

/// The worst of several runs of a correct 8-bit engine, each with other roundings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rounding {
    /// Greatest margin at which it took another greedy token.
    pub greatest_margin: f64,
    /// Fewest positions with the same greatest logit.
    pub least_argmax_equal: usize,
    /// How far those runs were from the right one; absent in older files.
    pub spread: Option<RoundingSpread>,
}

/// Distances of several runs of a correct 8-bit engine from the right one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundingSpread {
    /// Mean divergence.
    pub kl: f64,
    /// Its standard deviation.
    pub kl_deviation: f64,
    /// The greatest one.
    pub greatest_kl: f64,
    /// Most positions with the same greatest logit.
    pub most_argmax_equal: usize,
}

impl Golden {
    /// Reads `golden.json` in `dir` and the vectors that it names.
    ///
    /// # Errors
    /// Missing or damaged files.
    pub fn read(dir: &Path) -> Result<Golden> {
        let path = dir.join("golden.json");
        let text = fs::read(&path).with_context(|| format!("opening {}", path.display()))?;
        let mut golden: Golden =
            serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
        ensure!(
            !golden.items.is_empty(),
            "{} has no prompts",
            path.display()
        );
        for prompt in &mut golden.items {
            let n = prompt.ids.len();
            let complete = prompt.argmax_per_position.len() == n
                && prompt.nll_next_token_per_position.len() + 1 == n
                && prompt.greedy_ids.len() == prompt.greedy_margin.len();
            ensure!(
                complete,
                "{}: {} lacks positions",
                path.display(),
                prompt.name
            );
            if let Some(name) = &prompt.last_logits_npy {
                let path = dir.join(name);
                let file = fs::read(&path).with_context(|| path.display().to_string())?;
                prompt.last_logits = Some(npy::parse(&file)?.1);
            }
        }
        Ok(golden)
    }
}
