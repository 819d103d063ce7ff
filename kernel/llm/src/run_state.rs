//! The buffers that a token passes through.

use core::ops::Range;

use ops::activations::{Activations, FloatChunk, QuantPair, TILE};
use ops::arena::{Arena, OutOfMemory};
use ops::lanes::F32x4;
use ops::matrix::Kernels;
use ops::{Matrix, dispatch};
use parallel::{Core, Own, Private, Shared};

use crate::attention_shape::max_partials;
use crate::config::Config;

/// What one core has done, in [`RunState::counts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreCounts {
    /// Rows of weights multiplied, times tokens.
    pub gemv_rows: u64,
    /// Attention items: 64 positions of one KV head.
    pub attention_blocks: u64,
    /// Barriers passed.
    pub barriers: u64,
    /// Bytes of weights read.
    pub tensor_bytes: u64,
}

/// Buffers shared by the cores, panels of the batch unless said otherwise, and each core's own.
pub struct RunState<'a> {
    /// Residual stream: (dim).
    pub x: Shared<'a, F32x4>,
    /// A product before it is added to `x`: (dim).
    pub xb: Shared<'a, F32x4>,
    /// Queries, keys, values: (q_dim + 2 · kv_dim).
    pub qkv: Shared<'a, F32x4>,
    /// Partial attention results, by item.
    pub partials: Shared<'a, F32x4>,
    /// Gate, then gated: (hidden_dim).
    pub hb: Shared<'a, F32x4>,
    /// Up: (hidden_dim).
    pub hb2: Shared<'a, F32x4>,
    /// Logits: (vocab_size), for as many tokens as there is room.
    pub logits: Shared<'a, F32x4>,
    vector: Private<'a, F32x4>,
    queries: Private<'a, F32x4>,
    quant1: Private<'a, QuantPair<1>>,
    quant4: Private<'a, QuantPair<TILE>>,
    float1: Private<'a, FloatChunk<1>>,
    float4: Private<'a, FloatChunk<TILE>>,
    counts: Private<'a, [u64; 8]>,
    /// What multiplies.
    pub kernels: Kernels,
}

impl<'a> RunState<'a> {
    /// Buffers for batches of up to `batch` tokens on up to `n_cores` cores, with logits for
    /// `n_logits` tokens at once.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new(
        arena: &mut Arena<'a>,
        config: &Config,
        batch: usize,
        n_logits: usize,
        context_len: usize,
        n_cores: usize,
    ) -> Result<Self, OutOfMemory> {
        let (q_dim, kv_dim) = (config.q_dim(), config.kv_dim());
        let widest = config
            .dim
            .max(config.hidden_dim)
            .max(q_dim)
            // A key beside its normed head.
            .max(2 * config.head_dim)
            .next_multiple_of(64);
        let tiles = batch.div_ceil(TILE);
        let mut panel = |len: usize, n: usize| -> Result<_, OutOfMemory> {
            Ok(Shared::new(arena.slice(F32x4::count(len) * n)?))
        };
        Ok(RunState {
            x: panel(config.dim, batch)?,
            xb: panel(config.dim, batch)?,
            qkv: panel(q_dim + 2 * kv_dim, batch)?,
            partials: panel(4 * max_partials(config, batch, context_len), 1)?,
            hb: panel(config.hidden_dim, batch)?,
            hb2: panel(config.hidden_dim, batch)?,
            logits: panel(config.vocab_size, n_logits)?,
            vector: Private::new(arena.slice(widest / 4 * n_cores)?, n_cores),
            queries: Private::new(arena.slice(q_dim / 4 * batch * n_cores)?, n_cores),
            quant1: Private::new(arena.slice(widest / 64 * n_cores)?, n_cores),
            quant4: Private::new(arena.slice(widest / 64 * tiles * n_cores)?, n_cores),
            float1: Private::new(arena.slice(widest / 16 * n_cores)?, n_cores),
            float4: Private::new(arena.slice(widest / 16 * tiles * n_cores)?, n_cores),
            counts: Private::new(arena.slice(n_cores)?, n_cores),
            kernels: Kernels::default(),
        })
    }

    /// The calling core's own buffers.
    pub fn own(&self, core: &Core<'_>) -> Scratch<'_> {
        Scratch {
            vector: core.private(&self.vector),
            queries: core.private(&self.queries),
            quant1: core.private(&self.quant1),
            quant4: core.private(&self.quant4),
            float1: core.private(&self.float1),
            float4: core.private(&self.float4),
            counts: core.private(&self.counts),
            n_tokens: 0,
            kernels: self.kernels,
        }
    }

    /// How many cores have buffers.
    pub fn n_cores(&self) -> usize {
        self.vector.n_cores()
    }

    /// What core `id` has done since the last [`RunState::clear_counts`].
    pub fn counts(&mut self, id: usize) -> CoreCounts {
        let [gemv_rows, attention_blocks, barriers, tensor_bytes, ..] = self.counts.get_mut(id)[0];
        CoreCounts {
            gemv_rows,
            attention_blocks,
            barriers,
            tensor_bytes,
        }
    }

    /// Starts counting anew.
    pub fn clear_counts(&mut self) {
        for id in 0..self.n_cores() {
            self.counts.get_mut(id).fill([0; 8]);
        }
    }
}

/// One core's own buffers, and the activations it has made ready in them.
pub struct Scratch<'s> {
    /// A plain vector to work in, as long as the widest activation.
    pub vector: Own<'s, F32x4>,
    /// Rotated queries: by KV head, token, head in the group.
    pub queries: Own<'s, F32x4>,
    quant1: Own<'s, QuantPair<1>>,
    quant4: Own<'s, QuantPair<TILE>>,
    float1: Own<'s, FloatChunk<1>>,
    float4: Own<'s, FloatChunk<TILE>>,
    counts: Own<'s, [u64; 8]>,
    n_tokens: usize,
    kernels: Kernels,
}

impl Scratch<'_> {
    /// Makes room for the activations of `n` tokens, `cols` long, which then are put in one by one.
    pub fn begin(&mut self, n: usize) {
        self.n_tokens = n;
    }

    /// Tokens in the activations.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Puts `vector` in as token `t` of the activations, in the forms that `stack` wants.
    pub fn put(&mut self, t: usize, stack: &[&Matrix<'_>]) {
        let cols = stack[0].cols();
        if stack.iter().any(|w| self.kernels.want_quantized(w)) {
            let (blocks, len) = (cols / 32, cols.div_ceil(64));
            if self.n_tokens == 1 {
                dispatch::quantize(&self.vector, blocks, &mut self.quant1[..len], 0);
            } else {
                let tile = &mut self.quant4[t / TILE * len..][..len];
                dispatch::quantize(&self.vector, blocks, tile, t % TILE);
            }
        }
        if stack.iter().any(|w| !self.kernels.want_quantized(w)) {
            let len = cols.div_ceil(16);
            if self.n_tokens == 1 {
                dispatch::copy_floats(&self.vector, &mut self.float1[..len], 0);
            } else {
                let tile = &mut self.float4[t / TILE * len..][..len];
                dispatch::copy_floats(&self.vector, tile, t % TILE);
            }
        }
    }

    /// Copies token `t` of a panel of `n` tokens into `vector`.
    pub fn gather(&mut self, panel: &[F32x4], n: usize, t: usize) {
        let len = panel.len() / n;
        for (to, from) in self.vector.iter_mut().zip(panel[t..].iter().step_by(n)) {
            *to = *from;
        }
        self.vector[len..].fill(F32x4::ZERO);
    }

    /// `out = W[groups] · activations`
    pub fn mul(&mut self, w: &Matrix<'_>, groups: Range<usize>, out: &mut [F32x4]) {
        self.counts[0][0] += (groups.len() * ops::packed::MR * self.n_tokens) as u64;
        self.counts[0][3] += (groups.len() * w.group_bytes()) as u64;
        let x = Activations {
            n_tokens: self.n_tokens,
            quant1: &self.quant1,
            quant4: &self.quant4,
            float1: &self.float1,
            float4: &self.float4,
        };
        w.mul(self.kernels, &x, groups, out);
    }

    /// Counts attention items.
    pub fn count_attention_blocks(&mut self, n: usize) {
        self.counts[0][1] += n as u64;
    }

    /// Counts the barriers of a region.
    pub fn count_barriers(&mut self, n: u32) {
        self.counts[0][2] += u64::from(n);
    }
}
