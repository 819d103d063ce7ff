//! Qwen3 layer (Yang et al. 2025, arXiv:2505.09388): a Llama's with a norm of every query and key head.
//!
//! ```text
//! q_i     = RMSNorm((W_q n)_i),   k_j = RMSNorm((W_k n)_j)                   for heads i, j,   n = RMSNorm(h_l)
//! a_l     = h_l + W_o · Attention(RoPE(q), RoPE(k), W_v n)
//! h_{l+1} = a_l + W_down · (SiLU(W_gate m) ⊙ W_up m),                                          m = RMSNorm(a_l)
//! ```
//! A head has a width of its own: q_dim = n_heads · head_dim need not be dim. All query heads share one
//! norm's weights and all key heads another's; ε is that of the other norms. RoPE turns dimension i of a
//! head's first half with dimension i of its second.

use alloc::vec::Vec;

use ops::Matrix;
use ops::lanes::F32x4;
use parallel::Core;

use super::decoder::{self, Decoder, Pass};
use super::{Architecture, llama};
use crate::blocks::norm::{QkNorm, norm};
use crate::blocks::project::project;
use crate::blocks::rotary::RopeStyle;
use crate::config::{Config, KeyRules};
use crate::run_state::Scratch;
use crate::weights::{Spec, Tensors};

/// The architecture `qwen3`.
pub const ARCHITECTURE: Architecture = Architecture {
    keys: KeyRules {
        architecture: "qwen3",
        implied_rope_theta: None,
    },
    layer_tensors,
    decoder: |config, tensors, arena, context_len| {
        Decoder::<Layer<'_>>::boxed(config, tensors, arena, context_len)
    },
};

/// A layer's tensors: a Llama's, and the weights of the heads' norms.
fn layer_tensors(config: &Config) -> Vec<Spec> {
    let mut all = llama::layer_tensors(config);
    all.push(Spec::vector("attn_q_norm.weight", config.head_dim));
    all.push(Spec::vector("attn_k_norm.weight", config.head_dim));
    all
}

/// One layer's weights: a Llama's, and those of the heads' norms.
struct Layer<'a> {
    llama: llama::Layer<'a>,
    /// (head_dim)
    q_norm: &'a [F32x4],
    /// (head_dim)
    k_norm: &'a [F32x4],
}

impl<'a> decoder::Layer<'a> for Layer<'a> {
    const ROPE: RopeStyle = RopeStyle::HalfSplit;

    fn new(tensors: &mut Tensors<'a>) -> Self {
        Layer {
            llama: llama::Layer::new(tensors),
            q_norm: tensors.vector("attn_q_norm.weight"),
            k_norm: tensors.vector("attn_k_norm.weight"),
        }
    }

    fn matrices(&self) -> Vec<(&'static str, &Matrix<'a>)> {
        self.llama.matrices()
    }

    fn layer(&self, core: &mut Core<'_>, pass: &Pass<'_>, own: &mut Scratch<'_>, l: usize) {
        // q, k, v = [W_q; W_k; W_v] · RMSNorm(x); the heads of q and k are normed where they are rotated.
        let (s, w) = (pass.state, &self.llama);
        let qkv = [&w.wq, &w.wk, &w.wv];
        norm(core, own, &s.x, pass.n, w.attn_norm, pass.eps, &qkv);
        project(core, &qkv, own, &s.qkv);
        core.barrier();

        let norms = QkNorm {
            q: self.q_norm,
            k: self.k_norm,
            eps: pass.eps,
        };
        w.attend(core, pass, own, l, Some(&norms));
        w.feed_forward(core, pass, own);
    }
}
