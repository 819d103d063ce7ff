//! How the attention of one batch is cut into items: one KV head's block of 64 positions each.

use core::ops::Range;

use ops::scalar::attention::{BLOCK, partial_len};

use crate::config::Config;

/// Shapes of one attention step.
pub struct Shape {
    pub(crate) n_heads: usize,
    pub(crate) n_kv_heads: usize,
    pub(crate) head_dim: usize,
    /// First position of the batch.
    pub(crate) pos: usize,
    /// Tokens in the batch.
    pub(crate) n: usize,
}

impl Shape {
    /// The step of `n` tokens from position `pos` on.
    pub fn new(config: &Config, pos: usize, n: usize) -> Self {
        Shape {
            n_heads: config.n_heads,
            n_kv_heads: config.n_kv_heads,
            head_dim: config.head_dim,
            pos,
            n,
        }
    }

    /// Query heads that share a KV head.
    pub(crate) fn group(&self) -> usize {
        self.n_heads / self.n_kv_heads
    }

    pub(crate) fn lanes(&self) -> usize {
        self.head_dim / 4
    }

    /// Blocks that hold the positions up to token `t`'s.
    pub(crate) fn blocks_for(&self, t: usize) -> usize {
        (self.pos + t) / BLOCK + 1
    }

    pub(crate) fn n_items(&self) -> usize {
        self.blocks_for(self.n - 1) * self.n_kv_heads
    }

    /// Elements of one item's partial results.
    pub(crate) fn partials_per_item(&self) -> usize {
        self.n * self.group() * partial_len(self.head_dim)
    }

    /// Position where block `b`'s part of the batch starts, as a token number.
    pub(crate) fn first_token(&self, b: usize) -> usize {
        (b * BLOCK).saturating_sub(self.pos)
    }

    /// Lanes of head `head` of `qkv`'s queries, keys or values, `before` heads standing before it.
    pub(crate) fn head_range(&self, head: usize) -> Range<usize> {
        let len = self.lanes() * self.n;
        head * len..(head + 1) * len
    }
}

/// Most elements that the partial results of a batch of `n` tokens at the end of `context_len`
/// positions take.
pub fn max_partials(config: &Config, n: usize, context_len: usize) -> usize {
    let shape = Shape::new(config, context_len.saturating_sub(n), n);
    shape.n_items() * shape.partials_per_item()
}
