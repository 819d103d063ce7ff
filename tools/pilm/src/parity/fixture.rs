//! Tiny models with another implementation's logits at every position.
//!
//! A fixture is a Hugging Face directory with a `golden.json`: the quantized type that is compared
//! beside F32, token sequences, the file of each one's logits, and how far each classic mistake
//! moves them in the other implementation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ops::GgmlType;
use serde::{Deserialize, Serialize};

use super::controls::Control;
use crate::convert::{Source, convert};
use crate::editable::Editable;
use crate::metrics::{argmax, cosine, max_difference};
use crate::npy;
use crate::requantize::Target;

/// Greatest difference of any F32 logit.
const MAX_DIFFERENCE: f64 = 1e-4;
/// Least cosine of all logits of a sequence with quantized weights.
const MIN_QUANTIZED_COSINE: f64 = 0.995;
/// Greatest cosine that a model with a mistake may reach.
const MAX_CONTROL_COSINE: f64 = 0.9;
/// How far a mistake's cosine may be from the other implementation's.
const CONTROL_TOLERANCE: f64 = 0.002;
/// Sequences that are long enough to tell right from wrong by cosine.
const TELLING: [&str; 2] = ["mid33", "long128"];

/// A model file in memory and token ids in; logits of all positions out.
pub type LogitsOf<'a> = dyn FnMut(&[u8], &[u32]) -> Result<Vec<f32>> + 'a;

/// The type of a fixture's matrices that is compared beside F32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantized {
    /// Rounded weights.
    #[default]
    Q8_0,
    /// The weights as they are: the fixture has one magnitude in each block.
    Q1_0,
}

impl Quantized {
    fn ggml_type(self) -> GgmlType {
        match self {
            Quantized::Q8_0 => GgmlType::Q8_0,
            Quantized::Q1_0 => GgmlType::Q1_0,
        }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Greatest difference of any logit, F32 weights.
    Difference,
    /// Positions with another greatest logit, F32 weights.
    OtherArgmax,
    /// Cosine of all logits of a model with a mistake.
    Mistake(Control),
    /// Cosine of all logits, quantized weights and int8 activations.
    #[serde(untagged)]
    Cosine(Quantized),
}

impl What {
    /// A name for tables.
    pub fn name(self) -> &'static str {
        match self {
            What::Difference => "F32: greatest difference",
            What::OtherArgmax => "F32: other argmax",
            What::Mistake(control) => control.names().0,
            What::Cosine(Quantized::Q8_0) => "Q8_0: cosine",
            What::Cosine(Quantized::Q1_0) => "Q1_0: cosine",
        }
    }
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Which sequence.
    pub sequence: String,
    /// What was compared.
    pub what: What,
    /// What came out.
    pub value: f64,
    /// What the other implementation has when it makes the mistake.
    pub theirs: Option<Mistaken>,
}

impl Check {
    /// Whether the sequence is long enough to tell right from wrong by cosine.
    pub fn is_telling(&self) -> bool {
        TELLING.contains(&self.sequence.as_str())
    }

    /// Whether the value is what it should be.
    pub fn passed(&self) -> bool {
        match (self.what, self.theirs) {
            (What::Difference, _) => self.value <= MAX_DIFFERENCE,
            (What::OtherArgmax, _) => self.value == 0.0,
            (What::Cosine(_), _) => self.value >= MIN_QUANTIZED_COSINE,
            (What::Mistake(_), theirs) => {
                let near =
                    theirs.is_some_and(|t| (self.value - t.cosine).abs() <= CONTROL_TOLERANCE);
                near && (!self.is_telling() || self.value <= MAX_CONTROL_COSINE)
            }
        }
    }

    /// The value, with the digits that matter.
    pub fn shown(&self) -> String {
        match self.what {
            What::Difference => format!("{:.1e}", self.value),
            What::OtherArgmax => self.value.to_string(),
            What::Cosine(_) | What::Mistake(_) => format!("{:.4}", self.value),
        }
    }

    /// What is demanded, in words.
    pub fn demand(&self) -> String {
        match (self.what, self.theirs) {
            (What::Difference, _) => format!("≤ {MAX_DIFFERENCE:e}"),
            (What::OtherArgmax, _) => "= 0".to_owned(),
            (What::Cosine(_), _) => format!("≥ {MIN_QUANTIZED_COSINE}"),
            (What::Mistake(_), None) => "a stored value".to_owned(),
            (What::Mistake(_), Some(theirs)) => {
                let mut demand = format!("= {:.4} ± {CONTROL_TOLERANCE}", theirs.cosine);
                if self.is_telling() {
                    demand += &format!(", ≤ {MAX_CONTROL_COSINE}");
                }
                demand
            }
        }
    }
}

/// How many comparisons there are of all models, and how many fail.
pub fn n_and_failed(models: &BTreeMap<String, Vec<Check>>) -> (usize, usize) {
    let failed = models.values().flatten().filter(|check| !check.passed());
    (models.values().flatten().count(), failed.count())
}

#[derive(Deserialize)]
struct Golden {
    #[serde(default)]
    quantized: Quantized,
    sequences: BTreeMap<String, Sequence>,
    perturbations: BTreeMap<String, BTreeMap<String, Mistaken>>,
}

#[derive(Deserialize)]
struct Sequence {
    ids: Vec<u32>,
    logits_npy: String,
    argmax: Vec<u32>,
}

/// How far a mistake moves the other implementation from itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistaken {
    /// Cosine of all logits.
    #[serde(alias = "cos_all")]
    pub cosine: f64,
    /// Share of positions with the same greatest logit.
    #[serde(alias = "top1_agree")]
    pub argmax_share: f64,
}

/// Runs every comparison on the fixture in `dir`.
///
/// # Errors
/// Missing or damaged files, and what `logits_of` returns.
pub fn check(dir: &Path, tokenizer_dir: &Path, logits_of: &mut LogitsOf<'_>) -> Result<Vec<Check>> {
    let path = dir.join("golden.json");
    let text = fs::read(&path).with_context(|| format!("opening {}", path.display()))?;
    let golden: Golden =
        serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
    let source = Source {
        dir: dir.to_owned(),
        tokenizer_dir: tokenizer_dir.to_owned(),
    };
    let made = |ggml_type| {
        convert(
            &source,
            Target {
                ggml_type,
                pure: true,
            },
            Vec::new(),
            &mut |_, _| (),
        )
    };
    let f32_file = made(GgmlType::F32)?;
    let quantized_file = made(golden.quantized.ggml_type())?;
    let model = Editable::parse(&f32_file)?;
    let mut checks = Vec::new();
    for (name, sequence) in &golden.sequences {
        let stored = fs::read(dir.join(&sequence.logits_npy))?;
        let stored = npy::parse(&stored)
            .with_context(|| sequence.logits_npy.clone())?
            .1;
        let mut note = |what, value, theirs| {
            checks.push(Check {
                sequence: name.clone(),
                what,
                value,
                theirs,
            });
        };
        let found = logits_of(&f32_file, &sequence.ids)?;
        ensure!(
            found.len() == stored.len(),
            "{name}: {} logits",
            found.len()
        );
        note(What::Difference, max_difference(&found, &stored), None);
        let rows = found
            .chunks_exact(stored.len() / sequence.ids.len())
            .zip(&sequence.argmax);
        let other = rows
            .filter(|(row, id)| argmax(row) != **id as usize)
            .count();
        note(What::OtherArgmax, other as f64, None);
        if TELLING.contains(&name.as_str()) {
            note(
                What::Cosine(golden.quantized),
                cosine(&logits_of(&quantized_file, &sequence.ids)?, &stored),
                None,
            );
        }
        for control in Control::ALL.into_iter().filter(|c| c.applies_to(&model)) {
            let mut broken = model.clone();
            control.apply(&mut broken);
            let wrong = logits_of(&broken.write(GgmlType::F32)?, &sequence.ids)?;
            let theirs = golden
                .perturbations
                .get(control.names().1)
                .and_then(|by| by.get(name));
            note(
                What::Mistake(control),
                cosine(&wrong, &stored),
                theirs.copied(),
            );
        }
    }
    Ok(checks)
}
