//! The tensors that a decoder is made of, by ggml's names.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::config::{Architecture, Config, ROPE_FREQS_TENSOR};

/// What a tensor is used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows to multiply with.
    Matrix,
    /// A vector of floats.
    Vector,
}

/// A tensor that a model has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// What it is used as.
    pub kind: Kind,
    /// Rows; 1 for a vector.
    pub rows: usize,
    /// Length of a row.
    pub cols: usize,
    /// Whether the model does without it.
    pub optional: bool,
}

/// Every tensor of a model of this configuration.
pub fn specs(config: &Config) -> Vec<Spec> {
    let Config {
        dim,
        hidden_dim,
        vocab_size,
        ..
    } = *config;
    let (q_dim, kv_dim) = (config.q_dim(), config.kv_dim());
    let mut all = Specs(Vec::new());
    all.matrix("token_embd.weight", vocab_size, dim);
    for l in 0..config.n_layers {
        let name = |what: &str| format!("blk.{l}.{what}");
        all.vector(&name("attn_norm.weight"), dim);
        all.matrix(&name("attn_q.weight"), q_dim, dim);
        all.matrix(&name("attn_k.weight"), kv_dim, dim);
        all.matrix(&name("attn_v.weight"), kv_dim, dim);
        if config.architecture == Architecture::Qwen2 {
            all.vector(&name("attn_q.bias"), q_dim);
            all.vector(&name("attn_k.bias"), kv_dim);
            all.vector(&name("attn_v.bias"), kv_dim);
        }
        all.matrix(&name("attn_output.weight"), dim, q_dim);
        all.vector(&name("ffn_norm.weight"), dim);
        all.matrix(&name("ffn_gate.weight"), hidden_dim, dim);
        all.matrix(&name("ffn_up.weight"), hidden_dim, dim);
        all.matrix(&name("ffn_down.weight"), dim, hidden_dim);
    }
    all.vector("output_norm.weight", dim);
    // Without an output matrix the embedding serves: tied weights.
    all.matrix("output.weight", vocab_size, dim);
    all.last_is_optional();
    all.vector(ROPE_FREQS_TENSOR, config.head_dim / 2);
    all.last_is_optional();
    all.0
}

struct Specs(Vec<Spec>);

impl Specs {
    fn matrix(&mut self, name: &str, rows: usize, cols: usize) {
        let name = name.to_string();
        self.0.push(Spec {
            name,
            kind: Kind::Matrix,
            rows,
            cols,
            optional: false,
        });
    }

    fn vector(&mut self, name: &str, cols: usize) {
        let name = name.to_string();
        self.0.push(Spec {
            name,
            kind: Kind::Vector,
            rows: 1,
            cols,
            optional: false,
        });
    }

    fn last_is_optional(&mut self) {
        if let Some(last) = self.0.last_mut() {
            last.optional = true;
        }
    }
}
