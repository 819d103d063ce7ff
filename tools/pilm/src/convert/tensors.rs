//! Names, shapes and row orders of a checkpoint's tensors.

use super::Error;
use super::config::HfConfig;
use crate::safetensors::Checkpoint;
use crate::synth::Architecture;

/// One tensor of the GGUF file.
pub(super) struct Mapped {
    /// Name in the GGUF file.
    pub(super) name: String,
    /// Name in the checkpoint.
    hf_name: String,
    /// Fastest dimension first.
    pub(super) dims: Vec<u64>,
    /// Rows per head, where a head's rows change from half-split to interleaved pairs.
    interleave: Option<u64>,
}

impl Mapped {
    /// Length of a row and number of rows; a vector is one row.
    pub(super) fn cols_and_rows(&self) -> (u64, u64) {
        (self.dims[0], self.dims[1..].iter().product())
    }

    /// Rows that must be read together.
    pub(super) fn rows_per_unit(&self) -> u64 {
        self.interleave.unwrap_or(1)
    }

    /// `n` rows from `first` in the GGUF file's order.
    pub(super) fn rows(
        &self,
        checkpoint: &mut Checkpoint,
        first: u64,
        n: u64,
    ) -> Result<Vec<f32>, Error> {
        let values = checkpoint.rows(&self.hf_name, first, n)?;
        Ok(match self.interleave {
            None => values,
            Some(head_dim) => interleaved(&values, self.dims[0] as usize, head_dim as usize),
        })
    }
}

/// Rows of whole heads, (i, i + head_dim/2) made neighbours: row `2i + part` is old row
/// `part · head_dim/2 + i`.
fn interleaved(values: &[f32], cols: usize, head_dim: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(values.len());
    for head in values.chunks_exact(cols * head_dim) {
        for row in 0..head_dim {
            let old = row % 2 * (head_dim / 2) + row / 2;
            out.extend_from_slice(&head[old * cols..][..cols]);
        }
    }
    out
}

/// Every tensor of the GGUF file, in its order, checked against the checkpoint.
pub(super) fn plan(config: &HfConfig, checkpoint: &Checkpoint) -> Result<Vec<Mapped>, Error> {
    let (dim, hidden_dim) = (config.dim, config.hidden_dim);
    let q_dim = config.n_heads * config.head_dim;
    let kv_dim = config.n_kv_heads * config.head_dim;
    let mut plan = Vec::new();
    let mut add = |name: &str, hf_name: &str, dims: &[u64], interleave| {
        plan.push(Mapped {
            name: name.to_owned(),
            hf_name: hf_name.to_owned(),
            dims: dims.to_vec(),
            interleave,
        });
    };
    let embedding = "model.embed_tokens.weight";
    let of_tokens = [dim, config.vocab_size];
    add("token_embd.weight", embedding, &of_tokens, None);
    // A Llama's GGUF has the pairs of a rotation side by side; a checkpoint has them half a head apart.
    let interleave = match config.architecture {
        Architecture::Llama => Some(config.head_dim),
        Architecture::Qwen2 | Architecture::Qwen3 => None,
    };
    for l in 0..config.n_layers {
        for (ours, theirs, dims, order) in [
            ("attn_norm", "input_layernorm", &[dim][..], None),
            ("attn_q", "self_attn.q_proj", &[dim, q_dim], interleave),
            ("attn_k", "self_attn.k_proj", &[dim, kv_dim], interleave),
            ("attn_v", "self_attn.v_proj", &[dim, kv_dim], None),
            ("attn_output", "self_attn.o_proj", &[q_dim, dim], None),
            ("ffn_norm", "post_attention_layernorm", &[dim], None),
            ("ffn_gate", "mlp.gate_proj", &[dim, hidden_dim], None),
            ("ffn_up", "mlp.up_proj", &[dim, hidden_dim], None),
            ("ffn_down", "mlp.down_proj", &[hidden_dim, dim], None),
        ] {
            let theirs = format!("model.layers.{l}.{theirs}.weight");
            add(&format!("blk.{l}.{ours}.weight"), &theirs, dims, order);
        }
        if config.architecture == Architecture::Qwen2 {
            for (ours, theirs, len) in [
                ("attn_q", "q_proj", q_dim),
                ("attn_k", "k_proj", kv_dim),
                ("attn_v", "v_proj", kv_dim),
            ] {
                let theirs = format!("model.layers.{l}.self_attn.{theirs}.bias");
                add(&format!("blk.{l}.{ours}.bias"), &theirs, &[len], None);
            }
        }
        if config.architecture == Architecture::Qwen3 {
            for (ours, theirs) in [("attn_q_norm", "q_norm"), ("attn_k_norm", "k_norm")] {
                let hf_name = format!("model.layers.{l}.self_attn.{theirs}.weight");
                let name = format!("blk.{l}.{ours}.weight");
                add(&name, &hf_name, &[config.head_dim], None);
            }
        }
    }
    add("output_norm.weight", "model.norm.weight", &[dim], None);
    if !config.tied {
        add("output.weight", "lm_head.weight", &of_tokens, None);
    }
    check(config, checkpoint, &plan)?;
    Ok(plan)
}

fn check(config: &HfConfig, checkpoint: &Checkpoint, plan: &[Mapped]) -> Result<(), Error> {
    for tensor in plan {
        let name = tensor.hf_name.clone();
        let entry = checkpoint
            .entry(&name)
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
    for (name, _) in checkpoint.entries() {
        let known = plan.iter().any(|t| t.hf_name == name);
        // A tied head may be stored all the same, and old checkpoints store the rotary table.
        let redundant =
            config.tied && name == "lm_head.weight" || name.ends_with("rotary_emb.inv_freq");
        if !known && !redundant {
            return Err(Error::UnknownTensor {
                name: name.to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::interleaved;

    #[test]
    fn pairs_become_neighbours_within_each_head() {
        // Two heads of four rows of one value.
        let rows = [0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0];
        assert_eq!(
            interleaved(&rows, 1, 4),
            [0.0, 2.0, 1.0, 3.0, 10.0, 12.0, 11.0, 13.0]
        );
        let wide = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5];
        assert_eq!(
            interleaved(&wide, 2, 4),
            [0.0, 0.5, 2.0, 2.5, 1.0, 1.5, 3.0, 3.5]
        );
    }
}
