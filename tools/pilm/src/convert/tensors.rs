//! A checkpoint's tensors as those of a GGUF file: names, shapes and the order of rows.

use std::ops::Range;

use llm::config::ROPE_FREQS_TENSOR;

use super::Error;
use super::config::HfConfig;
use crate::architecture::{Architecture, Named};
use crate::gguf_writer::Tensor;
use crate::requantize::Target;
use crate::safetensors::Checkpoint;

/// What the rows of a tensor of the GGUF file are made from.
pub(super) enum Rows {
    /// A tensor of the checkpoint, by its name there.
    Stored(String),
    /// The same, with the rows of its heads, each so many, in another order.
    Interleaved(String, u64),
    /// One row that no checkpoint has.
    Computed(Vec<f32>),
}

impl Rows {
    /// Some of them.
    pub(super) fn read(
        &self,
        checkpoint: &mut Checkpoint,
        rows: Range<u64>,
    ) -> Result<Vec<f32>, Error> {
        let mut values = Vec::new();
        match self {
            Rows::Stored(name) => values = checkpoint.rows(name, rows)?,
            Rows::Interleaved(name, head_dim) => {
                for old in rows.map(|row| half_split(row, *head_dim)) {
                    values.extend(checkpoint.rows(name, old..old + 1)?);
                }
            }
            Rows::Computed(row) => values.clone_from(row),
        }
        Ok(values)
    }
}

/// Where a row stands in a checkpoint, whose heads have (i, i + head_dim/2) for the pair (2i, 2i + 1).
fn half_split(row: u64, head_dim: u64) -> u64 {
    let within = row % head_dim;
    row - within + within % 2 * (head_dim / 2) + within / 2
}

/// Every tensor of the GGUF file, in its order, checked against the checkpoint.
pub(super) fn plan(
    config: &HfConfig,
    checkpoint: &Checkpoint,
    target: Target,
) -> Result<Vec<Tensor<Rows>>, Error> {
    let named = config.architecture.tensors(&config.sizes, config.tied);
    check(config, checkpoint, &named)?;
    let divisors = config.rope_divisors.iter().map(|divisors| {
        let dims = [divisors.len() as u64];
        target.tensor(ROPE_FREQS_TENSOR, &dims, Rows::Computed(divisors.clone()))
    });
    let stored = named.into_iter().map(|tensor| {
        let turned = |part| tensor.name.ends_with(part);
        let llama = config.architecture == Architecture::Llama;
        let rows = if llama && ["attn_q.weight", "attn_k.weight"].into_iter().any(turned) {
            Rows::Interleaved(tensor.hf_name, config.sizes.head_dim as u64)
        } else {
            Rows::Stored(tensor.hf_name)
        };
        target.tensor(&tensor.name, &tensor.dims, rows)
    });
    Ok(divisors.chain(stored).collect())
}

fn check(config: &HfConfig, checkpoint: &Checkpoint, named: &[Named]) -> Result<(), Error> {
    for tensor in named {
        let name = tensor.hf_name.clone();
        let entry = checkpoint
            .entries()
            .get(&name)
            .ok_or_else(|| Error::MissingTensor { name: name.clone() })?;
        let expected: Vec<u64> = tensor.dims.iter().rev().copied().collect();
        if entry.shape != expected {
            return Err(Error::Shape {
                name,
                expected,
                found: entry.shape.clone(),
            });
        }
    }
    for name in checkpoint.entries().keys() {
        let known = named.iter().any(|t| t.hf_name == *name);
        // A tied head may be stored all the same, and old checkpoints store the rotary table.
        let redundant =
            config.tied && name == "lm_head.weight" || name.ends_with("rotary_emb.inv_freq");
        if !known && !redundant {
            let name = name.clone();
            return Err(Error::UnknownTensor { name });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::half_split;

    #[test]
    fn pairs_become_neighbours_within_each_head() {
        let old: Vec<u64> = (0..8).map(|row| half_split(row, 4)).collect();
        assert_eq!(old, [0, 2, 1, 3, 4, 6, 5, 7]);
    }
}
