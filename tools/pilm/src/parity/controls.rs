//! Negative controls: models that are wrong in one way each.
//!
//! A comparison that a broken model passes proves nothing. The engine stays as it is; the model is
//! changed so that a correct engine computes what a wrong one would have made of the original.

use serde::{Deserialize, Serialize};

use crate::editable::Editable;
use crate::gguf_writer::Value;

/// A classic mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// `rms_norm_eps` a thousand times too large.
    #[serde(rename = "eps_times_1000")]
    EpsTimes1000,
    /// `rope_theta` a tenth.
    #[serde(rename = "theta_over_10")]
    ThetaOver10,
    /// Rotary pairs (i, i + head_dim / 2) where the rows are ordered for (2i, 2i + 1).
    SwappedPairing,
    /// Query head `h` on KV head `h mod n_kv_heads` instead of `h / group`.
    TiledKvHeads,
}

impl Control {
    /// All of them.
    pub const ALL: [Control; 4] = [
        Control::EpsTimes1000,
        Control::ThetaOver10,
        Control::SwappedPairing,
        Control::TiledKvHeads,
    ];

    /// A name for tables, and the other implementation's.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Control::EpsTimes1000 => ("rms_norm_eps × 1000", "rms_norm_eps_x1000"),
            Control::ThetaOver10 => ("rope_theta / 10", "rope_theta_1e5_to_1e4"),
            Control::SwappedPairing => ("swapped RoPE pairing", "qk_rope_layout_interleaved_bug"),
            Control::TiledKvHeads => ("tiled KV heads", "gqa_tile_instead_of_repeat_bug"),
        }
    }

    /// Whether the mistake changes this model: with one KV head there is nothing to tile.
    pub fn applies_to(self, model: &Editable) -> bool {
        let sizes = model
            .size("attention.head_count_kv")
            .zip(model.size("attention.head_count"));
        self != Control::TiledKvHeads || sizes.is_some_and(|(kv, q)| kv > 1 && kv < q)
    }

    /// Makes the mistake.
    ///
    /// # Panics
    /// When the model lacks the keys that it must have to run.
    pub fn apply(self, model: &mut Editable) {
        let size = |model: &Editable, part| model.size(part).expect("a model that runs");
        let scale = |model: &mut Editable, part: &str, factor: f32| {
            if let Some(v) = model.get(part).and_then(Value::as_f32) {
                model.set(part, Value::f32(v * factor));
            }
        };
        match self {
            Control::EpsTimes1000 => scale(model, "attention.layer_norm_rms_epsilon", 1000.0),
            Control::ThetaOver10 => scale(model, "rope.freq_base", 0.1),
            Control::SwappedPairing => {
                let head_dim = size(model, "attention.key_length");
                let half = head_dim / 2;
                // Row `part · half + i` becomes row `2i + part`: the rows of a checkpoint that were
                // interleaved for a GGUF file and then met a half-split rotation.
                let order = |row: usize| {
                    let (head, within) = (row / head_dim, row % head_dim);
                    head * head_dim + within % 2 * half + within / 2
                };
                for suffix in [
                    "attn_q.weight",
                    "attn_k.weight",
                    "attn_q.bias",
                    "attn_k.bias",
                    "attn_q_norm.weight",
                    "attn_k_norm.weight",
                ] {
                    model
                        .ending_in(suffix)
                        .for_each(|tensor| tensor.reorder_rows(order));
                }
            }
            Control::TiledKvHeads => {
                let n_kv_heads = size(model, "attention.head_count_kv");
                let head_dim = size(model, "attention.key_length");
                let group = size(model, "attention.head_count") / n_kv_heads;
                // Slot `s` is served by KV head `s / group`: the head there is one whose number
                // has that remainder.
                let order = |i: usize| {
                    let (slot, within) = (i / head_dim, i % head_dim);
                    (slot % group * n_kv_heads + slot / group) * head_dim + within
                };
                for suffix in ["attn_q.weight", "attn_q.bias"] {
                    model
                        .ending_in(suffix)
                        .for_each(|tensor| tensor.reorder_rows(order));
                }
                for tensor in model.ending_in("attn_output.weight") {
                    tensor.reorder_cols(order);
                }
            }
        }
    }
}
