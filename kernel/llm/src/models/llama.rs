//! Llama layer (Touvron et al. 2023, arXiv:2302.13971).
//!
//! ```text
//! a_l     = h_l + W_o · Attention(RoPE(W_q n), RoPE(W_k n), W_v n),   n = RMSNorm(h_l)
//! h_{l+1} = a_l + W_down · (SiLU(W_gate m) ⊙ W_up m),                 m = RMSNorm(a_l)
//! ```
//! RoPE turns neighboring dimensions (the file's W_q and W_k are permuted for it). Norms and
//! quantization are done by each core for itself, which saves a barrier each.

use alloc::vec::Vec;

use ops::Matrix;
use ops::lanes::F32x4;
use parallel::Core;

use super::Architecture;
use super::decoder::{self, Decoder, Pass};
use crate::blocks::attention::{Heads, attend_items, merge_heads};
use crate::blocks::feed_forward::{gate, take_panel};
use crate::blocks::norm::{QkNorm, norm};
use crate::blocks::project::{project, project_onto};
use crate::blocks::rotary::RopeStyle;
use crate::config::{Config, KeyRules};
use crate::run_state::Scratch;
use crate::weights::{Spec, Tensors};

/// The architecture `llama`. Converters of 2023 left `rope.freq_base` out whenever it was 10000, and
/// ggml reads such files that way.
pub const ARCHITECTURE: Architecture = Architecture {
    keys: KeyRules {
        architecture: "llama",
        implied_rope_theta: Some(10_000.0),
    },
    layer_tensors,
    decoder: |config, tensors, arena, context_len| {
        Decoder::<Layer<'_>>::boxed(config, tensors, arena, context_len)
    },
};

/// A layer's tensors, matrices as `(rows, cols)`.
pub fn layer_tensors(config: &Config) -> Vec<Spec> {
    let (dim, hidden_dim) = (config.dim, config.hidden_dim);
    let (q_dim, kv_dim) = (config.q_dim(), config.kv_dim());
    Vec::from([
        Spec::vector("attn_norm.weight", dim),
        Spec::matrix("attn_q.weight", (q_dim, dim)),
        Spec::matrix("attn_k.weight", (kv_dim, dim)),
        Spec::matrix("attn_v.weight", (kv_dim, dim)),
        Spec::matrix("attn_output.weight", (dim, q_dim)),
        Spec::vector("ffn_norm.weight", dim),
        Spec::matrix("ffn_gate.weight", (hidden_dim, dim)),
        Spec::matrix("ffn_up.weight", (hidden_dim, dim)),
        Spec::matrix("ffn_down.weight", (dim, hidden_dim)),
    ])
}

/// One layer's weights, `(rows, cols)`.
pub struct Layer<'a> {
    /// (dim)
    pub attn_norm: &'a [F32x4],
    /// (q_dim, dim)
    pub wq: Matrix<'a>,
    /// (kv_dim, dim)
    pub wk: Matrix<'a>,
    /// (kv_dim, dim)
    pub wv: Matrix<'a>,
    /// (dim, q_dim)
    pub wo: Matrix<'a>,
    /// (dim)
    pub ffn_norm: &'a [F32x4],
    /// (hidden_dim, dim)
    pub w_gate: Matrix<'a>,
    /// (hidden_dim, dim)
    pub w_up: Matrix<'a>,
    /// (dim, hidden_dim)
    pub w_down: Matrix<'a>,
}

impl<'a> decoder::Layer<'a> for Layer<'a> {
    const ROPE: RopeStyle = RopeStyle::Interleaved;

    fn new(tensors: &mut Tensors<'a>) -> Self {
        Layer {
            attn_norm: tensors.vector("attn_norm.weight"),
            wq: tensors.matrix("attn_q.weight"),
            wk: tensors.matrix("attn_k.weight"),
            wv: tensors.matrix("attn_v.weight"),
            wo: tensors.matrix("attn_output.weight"),
            ffn_norm: tensors.vector("ffn_norm.weight"),
            w_gate: tensors.matrix("ffn_gate.weight"),
            w_up: tensors.matrix("ffn_up.weight"),
            w_down: tensors.matrix("ffn_down.weight"),
        }
    }

    fn matrices(&self) -> Vec<(&'static str, &Matrix<'a>)> {
        Vec::from([
            ("attn_q", &self.wq),
            ("attn_k", &self.wk),
            ("attn_v", &self.wv),
            ("attn_output", &self.wo),
            ("ffn_gate", &self.w_gate),
            ("ffn_up", &self.w_up),
            ("ffn_down", &self.w_down),
        ])
    }

    fn layer(&self, core: &mut Core<'_>, pass: &Pass<'_>, own: &mut Scratch<'_>, l: usize) {
        // q, k, v = [W_q; W_k; W_v] · RMSNorm(x)
        let (s, qkv) = (pass.state, [&self.wq, &self.wk, &self.wv]);
        norm(core, own, &s.x, pass.n, self.attn_norm, pass.eps, &qkv);
        project(core, &qkv, own, &s.qkv);
        core.barrier();

        self.attend(core, pass, own, l, None);
        self.feed_forward(core, pass, own);
    }
}

impl Layer<'_> {
    /// `x += W_o · Attention(RoPE(q), RoPE(k), v)`, the heads of q and k normed first where `norms` are given.
    pub fn attend(
        &self,
        core: &mut Core<'_>,
        pass: &Pass<'_>,
        own: &mut Scratch<'_>,
        l: usize,
        norms: Option<&QkNorm<'_>>,
    ) {
        let (s, shape, kv) = (pass.state, &pass.shape, pass.batch.kv.layer(l));
        // The turn gives few items to all cores, layer by layer.
        let turn = pass.batch.pos + l;
        let heads = Heads {
            shape,
            rotary: pass.rotary,
            norms,
        };
        attend_items(core, &heads, own, turn, s, kv);
        core.barrier();

        merge_heads(core, shape, own, &s.partials, &self.wo);
        project_onto(core, &self.wo, own, &s.xb, &s.x);
        core.barrier();
    }

    /// `x += W_down · (SiLU(W_gate m) ⊙ W_up m)`, `m = RMSNorm(x)`
    pub fn feed_forward(&self, core: &mut Core<'_>, pass: &Pass<'_>, own: &mut Scratch<'_>) {
        let (s, n, w_gate, w_up) = (pass.state, pass.n, &self.w_gate, &self.w_up);
        norm(core, own, &s.x, n, self.ffn_norm, pass.eps, &[w_gate, w_up]);
        gate(core, w_gate, w_up, own, &s.hb, &s.hb2);
        core.barrier();

        take_panel(core, own, &s.hb, n, &self.w_down);
        project_onto(core, &self.w_down, own, &s.xb, &s.x);
        core.barrier();
    }
}
