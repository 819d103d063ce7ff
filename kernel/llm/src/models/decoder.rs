//! A decoder, whatever its layers: embedding, layers, norm and head.
//!
//! ```text
//! h_0     = E[token]
//! h_{l+1} = Layer_l(h_l)
//! logits  = W_out · RMSNorm(h_L)
//! ```

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use ops::Matrix;
use ops::arena::{Arena, OutOfMemory};
use ops::lanes::F32x4;
use parallel::Core;

use super::Model;
use crate::attention_shape::Shape;
use crate::batch::Batch;
use crate::blocks::embedding::embed;
use crate::blocks::output::logits;
use crate::blocks::rotary::{RopeStyle, Rotary};
use crate::config::{Config, ROPE_FREQS_TENSOR};
use crate::run_state::{RunState, Scratch};
use crate::weights::{Spec, Tensors};

/// One layer of an architecture.
pub trait Layer<'a>: Sized + Send + Sync {
    /// Which dimensions of a head RoPE pairs.
    const ROPE: RopeStyle;

    /// Takes the layer's weights, by their names after `blk.{l}.`
    fn new(tensors: &mut Tensors<'a>) -> Self;

    /// Its matrices, with their tensors' names.
    fn matrices(&self) -> Vec<(&'static str, &Matrix<'a>)>;

    /// `h = Layer(h)` for a batch, `h` being `pass.state.x`. Run by every core; each step ends with a
    /// barrier where all of its rows must be known.
    fn layer(&self, core: &mut Core<'_>, pass: &Pass<'_>, own: &mut Scratch<'_>, l: usize);
}

/// What the layers have in common while a batch runs.
pub struct Pass<'p> {
    /// The batch.
    pub batch: &'p Batch<'p>,
    /// Its buffers.
    pub state: &'p RunState<'p>,
    /// Tokens in the batch.
    pub n: usize,
    /// Its attention's items.
    pub shape: Shape,
    /// The model's rotations.
    pub rotary: &'p Rotary<'p>,
    /// The norms' ε.
    pub eps: f32,
}

/// The decoder of an architecture that has layers `L`.
pub struct Decoder<'a, L> {
    config: Config,
    rotary: Rotary<'a>,
    /// (vocab_size, dim)
    token_embd: Matrix<'a>,
    layers: Vec<L>,
    /// (dim)
    output_norm: &'a [F32x4],
    /// (vocab_size, dim); without it the embedding serves.
    output: Option<Matrix<'a>>,
}

/// Every tensor of a decoder whose layers have the tensors `layer`.
pub fn tensors(config: &Config, layer: &[Spec]) -> Vec<Spec> {
    let head = (config.vocab_size, config.dim);
    let mut all = Vec::from([
        Spec::matrix("token_embd.weight", head),
        Spec::vector("output_norm.weight", config.dim),
        Spec::matrix("output.weight", head).optional(),
        Spec::vector(ROPE_FREQS_TENSOR, config.head_dim / 2).optional(),
    ]);
    for l in 0..config.n_layers {
        all.extend(layer.iter().map(|spec| Spec {
            name: format!("blk.{l}.{}", spec.name),
            ..spec.clone()
        }));
    }
    all
}

impl<'a, L: Layer<'a> + 'a> Decoder<'a, L> {
    /// Takes the decoder's weights out of `tensors`.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn boxed(
        config: &Config,
        tensors: &mut Tensors<'a>,
        arena: &mut Arena<'a>,
        context_len: usize,
    ) -> Result<Box<dyn Model<'a> + 'a>, OutOfMemory> {
        let divisors = tensors.optional_values(ROPE_FREQS_TENSOR);
        Ok(Box::new(Decoder {
            config: config.clone(),
            rotary: Rotary::new(arena, config, L::ROPE, divisors, context_len)?,
            token_embd: tensors.matrix("token_embd.weight"),
            layers: (0..config.n_layers)
                .map(|l| L::new(&mut tensors.under(&format!("blk.{l}."))))
                .collect(),
            output_norm: tensors.vector("output_norm.weight"),
            output: tensors.optional_matrix("output.weight"),
        }))
    }
}

impl<'a, L: Layer<'a>> Model<'a> for Decoder<'a, L> {
    fn forward(&self, core: &mut Core<'_>, batch: &Batch<'_>) {
        let (state, eps) = (batch.state, self.config.rms_norm_eps);
        let n = batch.tokens.len();
        let pass = Pass {
            batch,
            state,
            n,
            shape: Shape::new(&self.config, batch.pos, n),
            rotary: &self.rotary,
            eps,
        };
        let mut own = state.own(core);
        embed(core, &self.token_embd, batch.tokens, &state.x);
        core.barrier();
        for (l, layer) in self.layers.iter().enumerate() {
            layer.layer(core, &pass, &mut own, l);
        }
        let output = self.output.as_ref().unwrap_or(&self.token_embd);
        logits(core, batch, &mut own, self.output_norm, eps, output);
        own.count_barriers(core.n_barriers());
    }

    fn matrices(&self) -> Vec<(&'static str, &Matrix<'a>)> {
        let head = match &self.output {
            Some(output) => ("output", output),
            None => ("token_embd", &self.token_embd),
        };
        let layers = self.layers.iter().flat_map(Layer::matrices);
        core::iter::once(head).chain(layers).collect()
    }
}
