//! Qwen2 layer (Yang et al. 2024, arXiv:2407.10671): a Llama's with biases on q, k and v.
//!
//! ```text
//! a_l     = h_l + W_o · Attention(RoPE(W_q n + b_q), RoPE(W_k n + b_k), W_v n + b_v),   n = RMSNorm(h_l)
//! h_{l+1} = a_l + W_down · (SiLU(W_gate m) ⊙ W_up m),                                   m = RMSNorm(a_l)
//! ```
//! RoPE turns dimension i of a head's first half with dimension i of its second.

use alloc::vec::Vec;

use ops::Matrix;
use ops::lanes::F32x4;
use parallel::Core;

use super::decoder::{self, Decoder, Pass};
use super::{Architecture, llama};
use crate::blocks::norm::norm;
use crate::blocks::project::project_biased;
use crate::blocks::rotary::RopeStyle;
use crate::config::{Config, KeyRules};
use crate::run_state::Scratch;
use crate::weights::{Spec, Tensors};

/// The architecture `qwen2`.
pub const ARCHITECTURE: Architecture = Architecture {
    keys: KeyRules {
        architecture: "qwen2",
        implied_rope_theta: None,
    },
    layer_tensors,
    decoder: |config, tensors, arena, context_len| {
        Decoder::<Layer<'_>>::boxed(config, tensors, arena, context_len)
    },
};

/// A layer's tensors: a Llama's, and the biases.
fn layer_tensors(config: &Config) -> Vec<Spec> {
    let mut all = llama::layer_tensors(config);
    all.push(Spec::vector("attn_q.bias", config.q_dim()));
    all.push(Spec::vector("attn_k.bias", config.kv_dim()));
    all.push(Spec::vector("attn_v.bias", config.kv_dim()));
    all
}

/// One layer's weights: a Llama's, and three biases in floats.
struct Layer<'a> {
    llama: llama::Layer<'a>,
    /// (q_dim)
    bq: &'a [F32x4],
    /// (kv_dim)
    bk: &'a [F32x4],
    /// (kv_dim)
    bv: &'a [F32x4],
}

impl<'a> decoder::Layer<'a> for Layer<'a> {
    const ROPE: RopeStyle = RopeStyle::HalfSplit;

    fn new(tensors: &mut Tensors<'a>) -> Self {
        Layer {
            llama: llama::Layer::new(tensors),
            bq: tensors.vector("attn_q.bias"),
            bk: tensors.vector("attn_k.bias"),
            bv: tensors.vector("attn_v.bias"),
        }
    }

    fn matrices(&self) -> Vec<(&'static str, &Matrix<'a>)> {
        self.llama.matrices()
    }

    fn layer(&self, core: &mut Core<'_>, pass: &Pass<'_>, own: &mut Scratch<'_>, l: usize) {
        // q, k, v = [W_q; W_k; W_v] · RMSNorm(x) + [b_q; b_k; b_v]
        let (s, w) = (pass.state, &self.llama);
        let qkv = [&w.wq, &w.wk, &w.wv];
        norm(core, own, &s.x, pass.n, w.attn_norm, pass.eps, &qkv);
        project_biased(core, &qkv, &[self.bq, self.bk, self.bv], own, &s.qkv);
        core.barrier();

        w.attend(core, pass, own, l, None);
        w.feed_forward(core, pass, own);
    }
}
