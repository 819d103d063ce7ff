//! Qwen2 decoder (Yang et al. 2024, arXiv:2407.10671): a Llama with biases on q, k and v, and RoPE
//! on the two halves of a head.
//!
//! ```text
//! h_0     = E[token]
//! a_l     = h_l + W_o · Attention(RoPE(W_q n + b_q), RoPE(W_k n + b_k), W_v n + b_v),   n = RMSNorm(h_l)
//! h_{l+1} = a_l + W_down · (SiLU(W_gate m) ⊙ W_up m),                 m = RMSNorm(a_l)
//! logits  = W_out · RMSNorm(h_L)
//! ```
//! Every core runs this page; a step ends where all of its rows must be known. Norms and
//! quantisation are done by each core for itself, which saves a barrier each.

use alloc::vec::Vec;

use ops::Matrix;
use ops::arena::Arena;
use ops::lanes::F32x4;
use ops::parallel::Core;

use super::{Step, llama, see_head};
use crate::blocks::attention::{Shape, attend_items, merge_heads};
use crate::blocks::embedding::embed;
use crate::blocks::feed_forward::{gate, take_panel};
use crate::blocks::norm::norm;
use crate::blocks::output::logits;
use crate::blocks::project::{project_biased, project_onto};
use crate::blocks::rotary::{RopeStyle, Rotary};
use crate::config::Config;
use crate::run_state::Scratch;
use crate::weights::{LoadError, Tensors};

/// One layer's weights: a Llama's, and three biases in floats.
pub struct Layer<'a> {
    /// The weights.
    pub weights: llama::Layer<'a>,
    /// (q_dim)
    pub bq: &'a [F32x4],
    /// (kv_dim)
    pub bk: &'a [F32x4],
    /// (kv_dim)
    pub bv: &'a [F32x4],
}

/// The decoder.
pub struct Qwen2<'a> {
    config: Config,
    rotary: Rotary<'a>,
    /// (vocab_size, dim)
    token_embd: Matrix<'a>,
    layers: Vec<Layer<'a>>,
    /// (dim)
    output_norm: &'a [F32x4],
    /// (vocab_size, dim); without it the embedding serves.
    output: Option<Matrix<'a>>,
}

impl<'a> Qwen2<'a> {
    /// Takes the decoder's weights out of `tensors`.
    ///
    /// # Errors
    /// [`LoadError::OutOfMemory`].
    pub fn new(
        config: &Config,
        tensors: &mut Tensors<'a>,
        arena: &mut Arena<'a>,
        context_len: usize,
    ) -> Result<Self, LoadError> {
        let divisors = tensors.take_rope_freqs();
        let style = RopeStyle::HalfSplit;
        let rotary = Rotary::new(arena, config, style, divisors.as_deref(), context_len)?;
        Ok(Qwen2 {
            config: config.clone(),
            rotary,
            token_embd: tensors.take("token_embd.weight"),
            layers: (0..config.n_layers)
                .map(|l| tensors.take_biased_layer(l))
                .collect(),
            output_norm: tensors.take_vector("output_norm.weight"),
            output: tensors.take_optional("output.weight"),
        })
    }

    /// Shows every matrix that is multiplied, with its tensor's name without the layer.
    pub fn for_each_matrix<'m>(&'m self, see: &mut dyn FnMut(&'static str, &'m Matrix<'a>)) {
        see_head(&self.token_embd, self.output.as_ref(), see);
        let layers = self.layers.iter();
        let matrices = layers.flat_map(|layer| layer.weights.matrices());
        matrices.for_each(|(name, matrix)| see(name, matrix));
    }

    /// Runs a batch. To be called by every core of a region.
    pub fn forward(&self, core: &mut Core<'_>, step: &Step<'_>) {
        let mut own = step.state.own(core);
        embed(core, &self.token_embd, step.tokens, &step.state.x);
        core.barrier();
        for l in 0..self.layers.len() {
            self.layer(core, step, &mut own, l);
        }
        let output = self.output.as_ref().unwrap_or(&self.token_embd);
        logits(
            core,
            step,
            &mut own,
            self.output_norm,
            self.config.rms_norm_eps,
            output,
        );
        own.count_barriers(core.n_barriers());
    }

    fn layer(&self, core: &mut Core<'_>, step: &Step<'_>, own: &mut Scratch<'_>, l: usize) {
        let (layer, s, n) = (&self.layers[l], step.state, step.tokens.len());
        let w = &layer.weights;
        let shape = Shape::new(&self.config, step.pos, n);
        let eps = self.config.rms_norm_eps;

        // q, k, v = [W_q; W_k; W_v] · RMSNorm(x) + [b_q; b_k; b_v]
        let qkv = [&w.wq, &w.wk, &w.wv];
        norm(core, own, &s.x, n, w.attn_norm, eps, &qkv);
        project_biased(core, &qkv, &[layer.bq, layer.bk, layer.bv], own, &s.qkv);
        core.barrier();

        // attention of RoPE(q) to the cache, RoPE(k) and v appended, block by block
        attend_items(
            core,
            &shape,
            &self.rotary,
            own,
            step.turn(l),
            s,
            step.kv.layer(l),
        );
        core.barrier();

        // x += W_o · attention
        merge_heads(core, &shape, own, &s.partials, &w.wo);
        project_onto(core, &w.wo, own, &s.xb, &s.x);
        core.barrier();

        // hb = SiLU(W_gate · RMSNorm(x)) ⊙ W_up · RMSNorm(x)
        norm(core, own, &s.x, n, w.ffn_norm, eps, &[&w.w_gate, &w.w_up]);
        gate(core, &w.w_gate, &w.w_up, own, &s.hb, &s.hb2);
        core.barrier();

        // x += W_down · hb
        take_panel(core, own, &s.hb, n, &w.w_down);
        project_onto(core, &w.w_down, own, &s.xb, &s.x);
        core.barrier();
    }
}
