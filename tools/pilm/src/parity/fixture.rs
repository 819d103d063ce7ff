//! Tiny models with another implementation's logits at every position.
//!
//! A fixture is a Hugging Face directory with a `golden.json`: token sequences, the file of each
//! one's logits, and how far each classic mistake moves them in the other implementation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ops::GgmlType;
use serde::Deserialize;

use super::controls::Control;
use crate::convert::{Source, convert};
use crate::editable::Editable;
use crate::metrics::{argmax, cosine, max_difference};
use crate::npy;
use crate::requantize::Target;

/// Greatest difference of any F32 logit.
const MAX_DIFFERENCE: f64 = 1e-4;
/// Least cosine of all logits of a sequence with Q8_0 weights.
const MIN_Q8_0_COSINE: f64 = 0.995;
/// Greatest cosine that a model with a mistake may reach.
const MAX_CONTROL_COSINE: f64 = 0.9;
/// How far a mistake's cosine may be from the other implementation's.
const CONTROL_TOLERANCE: f64 = 0.002;
/// Sequences that are long enough to tell right from wrong by cosine.
const TELLING: [&str; 2] = ["mid33", "long128"];

/// A model file in memory and token ids in; logits of all positions out.
pub type LogitsOf<'a> = dyn FnMut(&[u8], &[u32]) -> Result<Vec<f32>> + 'a;

/// One comparison.
#[derive(Clone, Debug)]
pub struct Check {
    /// Which sequence.
    pub sequence: String,
    /// What was compared.
    pub what: String,
    /// What came out.
    pub value: f64,
    /// What was demanded, in words.
    pub limit: String,
    /// Whether it was met.
    pub passed: bool,
}

#[derive(Deserialize)]
struct Golden {
    sequences: BTreeMap<String, Sequence>,
    perturbations: BTreeMap<String, BTreeMap<String, Perturbed>>,
}

#[derive(Deserialize)]
struct Sequence {
    ids: Vec<u32>,
    logits_npy: String,
    argmax: Vec<u32>,
}

#[derive(Deserialize)]
struct Perturbed {
    cos_all: f64,
    top1_agree: f64,
}

/// The other implementation's name of a mistake.
fn key_of(control: Control) -> &'static str {
    match control {
        Control::EpsTimes1000 => "rms_norm_eps_x1000",
        Control::ThetaOver10 => "rope_theta_1e5_to_1e4",
        Control::SwappedPairing => "qk_rope_layout_interleaved_bug",
        Control::TiledKvHeads => "gqa_tile_instead_of_repeat_bug",
    }
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
    let (f32_file, q8_0_file) = (made(GgmlType::F32)?, made(GgmlType::Q8_0)?);
    let model = Editable::parse(&f32_file)?;
    let mut checks = Vec::new();
    for (name, sequence) in &golden.sequences {
        let stored = fs::read(dir.join(&sequence.logits_npy))?;
        let stored = npy::parse(&stored)
            .with_context(|| sequence.logits_npy.clone())?
            .1;
        let mut note = |what: String, value: f64, limit: String, passed: bool| {
            checks.push(Check {
                sequence: name.clone(),
                what,
                value,
                limit,
                passed,
            });
        };

        let found = logits_of(&f32_file, &sequence.ids)?;
        ensure!(
            found.len() == stored.len(),
            "{name}: {} logits",
            found.len()
        );
        let difference = max_difference(&found, &stored);
        let limit = format!("≤ {MAX_DIFFERENCE:e}");
        note(
            "F32, greatest difference".into(),
            difference,
            limit,
            difference <= MAX_DIFFERENCE,
        );
        let vocab_size = stored.len() / sequence.ids.len();
        let same = found
            .chunks_exact(vocab_size)
            .zip(&sequence.argmax)
            .filter(|(logits, id)| argmax(logits) == **id as usize)
            .count();
        let all = sequence.ids.len();
        note(
            "F32, same argmax".into(),
            same as f64,
            format!("= {all}"),
            same == all,
        );

        if TELLING.contains(&name.as_str()) {
            let cosine = cosine(&logits_of(&q8_0_file, &sequence.ids)?, &stored);
            let limit = format!("≥ {MIN_Q8_0_COSINE}");
            note(
                "Q8_0, cosine".into(),
                cosine,
                limit,
                cosine >= MIN_Q8_0_COSINE,
            );
        }
        for control in Control::ALL.into_iter().filter(|c| c.applies_to(&model)) {
            let mut broken = model.clone();
            control.apply(&mut broken);
            let wrong = logits_of(&broken.write(GgmlType::F32)?, &sequence.ids)?;
            let cosine = cosine(&wrong, &stored);
            let theirs = golden
                .perturbations
                .get(key_of(control))
                .and_then(|by_sequence| by_sequence.get(name))
                .with_context(|| format!("{name} lacks {}", key_of(control)))?;
            let near = (cosine - theirs.cos_all).abs() <= CONTROL_TOLERANCE;
            let telling = TELLING.contains(&name.as_str());
            let mut limit = format!("= {:.4} ± {CONTROL_TOLERANCE}", theirs.cos_all);
            if telling {
                limit += &format!(", ≤ {MAX_CONTROL_COSINE}");
            } else if theirs.cos_all > MAX_CONTROL_COSINE {
                limit += &format!("; weak: argmax agrees at {:.3}", theirs.top1_agree);
            }
            let passed = near && (!telling || cosine <= MAX_CONTROL_COSINE);
            note(format!("{}, cosine", control.name()), cosine, limit, passed);
        }
    }
    Ok(checks)
}
