//! Grouped-query attention (Ainslie et al. 2023, arXiv:2305.13245) as split-KV attention over
//! blocks of 64 positions (Dao et al. 2023, "Flash-Decoding").
//!
//! The unit of work, a split, is an *item*: one KV head's keys and values of one block. Whoever has the last
//! block's item also appends the new positions to it. An item leaves one partial result per
//! query; [`merge_heads`] joins them in ascending order of blocks, so that who worked on what
//! cannot be seen in the result.

use core::array::from_fn;
use core::ops::Range;

use ops::lanes::F32x4;
use ops::scalar::attention::{BLOCK, KvF16, KvF32, KvI8, partial_len};
use ops::{Matrix, dispatch};
use parallel::{Core, Shared};

use super::norm::QkNorm;
use super::rotary::Rotary;
use crate::attention_shape::Shape;
use crate::kv_cache::Units;
use crate::run_state::{RunState, Scratch};

/// What the heads of a batch pass through before queries meet keys.
pub struct Heads<'p> {
    /// Their number and width, and the batch's positions.
    pub shape: &'p Shape,
    /// RoPE.
    pub rotary: &'p Rotary<'p>,
    /// What norms them before it, if anything does.
    pub norms: Option<&'p QkNorm<'p>>,
}

impl Heads<'_> {
    /// `scale · RoPE(x)` of token `t`'s part of a head's panel, or of `RMSNorm(x)` where `norm` has weights
    /// and ε; `room` is for the normed head.
    fn rotate(
        &self,
        panel: &[F32x4],
        t: usize,
        norm: Option<(&[F32x4], f32)>,
        scale: f32,
        room: &mut [F32x4],
        out: &mut [F32x4],
    ) {
        let (n, position) = (self.shape.n, self.shape.pos + t);
        let (panel, n, t) = match norm {
            None => (panel, n, t),
            Some((weight, eps)) => {
                dispatch::rms_norm(panel, n, t, weight, eps, room);
                (&*room, 1, 0)
            }
        };
        self.rotary.apply(panel, n, t, position, scale, out);
    }
}

/// Appends the batch's keys and values, and attends each of this core's items.
///
/// The queries, keys and values come from `state.qkv`, not yet normed or rotated, and the partial
/// results go to `state.partials`.
pub fn attend_items(
    core: &Core<'_>,
    heads: &Heads<'_>,
    own: &mut Scratch<'_>,
    turn: usize,
    state: &RunState<'_>,
    units: &Units<'_>,
) {
    match units {
        Units::F16(units) => attend::<KvF16>(core, heads, own, turn, state, units),
        Units::F32(units) => attend::<KvF32>(core, heads, own, turn, state, units),
        Units::I8(units) => attend::<KvI8>(core, heads, own, turn, state, units),
    }
}

fn attend<K: dispatch::KvKernels>(
    core: &Core<'_>,
    heads: &Heads<'_>,
    own: &mut Scratch<'_>,
    turn: usize,
    state: &RunState<'_>,
    units: &Shared<'_, K::Lane>,
) {
    let (shape, qkv) = (heads.shape, core.read(&state.qkv));
    let unit_len = K::unit_len(shape.head_dim);
    let (items, units) = core.part(units, shape.n_items(), unit_len, turn);
    let (_, partials) = core.part(
        &state.partials,
        shape.n_items(),
        shape.partials_per_item(),
        turn,
    );
    own.count_attention_blocks(items.len());
    rotate_queries(heads, own, &items, qkv);
    let partials = partials.chunks_exact_mut(shape.partials_per_item());
    for ((item, unit), partials) in items.zip(units.chunks_exact_mut(unit_len)).zip(partials) {
        let (block, kv_head) = (item / shape.n_kv_heads, item % shape.n_kv_heads);
        append::<K>(heads, own, block, kv_head, qkv, unit);
        attend_item::<K>(shape, own, block, kv_head, unit, partials);
    }
}

/// Norms, rotates and scales the queries of every KV head that `items` touch.
fn rotate_queries(heads: &Heads<'_>, own: &mut Scratch<'_>, items: &Range<usize>, qkv: &[F32x4]) {
    let shape = heads.shape;
    let scale = 1.0 / libm::sqrtf(shape.head_dim as f32);
    let norm = heads.norms.map(|norms| (norms.q, norms.eps));
    let room = &mut own.vector[..shape.lanes()];
    for head in 0..shape.n_heads {
        let (kv_head, in_group) = (head / shape.group(), head % shape.group());
        if !items
            .clone()
            .take(shape.n_kv_heads)
            .any(|item| item % shape.n_kv_heads == kv_head)
        {
            continue;
        }
        let queries = &qkv[shape.head_range(head)];
        for t in 0..shape.n {
            let row = (kv_head * shape.n + t) * shape.group() + in_group;
            let out = &mut own.queries[row * shape.lanes()..][..shape.lanes()];
            heads.rotate(queries, t, norm, scale, room, out);
        }
    }
}

/// Puts the keys and values of the batch that fall on `block` into its unit.
fn append<K: dispatch::KvKernels>(
    heads: &Heads<'_>,
    own: &mut Scratch<'_>,
    block: usize,
    kv_head: usize,
    qkv: &[F32x4],
    unit: &mut [K::Lane],
) {
    let shape = heads.shape;
    let norm = heads.norms.map(|norms| (norms.k, norms.eps));
    let keys = &qkv[shape.head_range(shape.n_heads + kv_head)];
    let values = &qkv[shape.head_range(shape.n_heads + shape.n_kv_heads + kv_head)];
    let until = ((block + 1) * BLOCK).saturating_sub(shape.pos).min(shape.n);
    for t in shape.first_token(block)..until {
        let position = shape.pos + t;
        let (key, room) = own.vector[..2 * shape.lanes()].split_at_mut(shape.lanes());
        heads.rotate(keys, t, norm, 1.0, room, key);
        dispatch::append::<K>(unit, position % BLOCK, key, values, shape.n, t);
    }
}

/// All queries of the batch that see `block`, up to four at a time.
fn attend_item<K: dispatch::KvKernels>(
    shape: &Shape,
    own: &Scratch<'_>,
    block: usize,
    kv_head: usize,
    unit: &[K::Lane],
    partials: &mut [F32x4],
) {
    let (lanes, out_len) = (shape.lanes(), partial_len(shape.head_dim));
    let n_rows = shape.n * shape.group();
    let mut row = shape.first_token(block) * shape.group();
    while row < n_rows {
        let n = (n_rows - row).min(4);
        let queries = &own.queries[(kv_head * n_rows + row) * lanes..][..n * lanes];
        let out = &mut partials[row * out_len..][..n * out_len];
        let valid = |i: usize| {
            let position = shape.pos + (row + i) / shape.group();
            (position + 1 - block * BLOCK).min(BLOCK)
        };
        match n {
            1 => dispatch::attend::<K, 1>(queries, unit, from_fn(valid), out),
            2 => dispatch::attend::<K, 2>(queries, unit, from_fn(valid), out),
            3 => dispatch::attend::<K, 3>(queries, unit, from_fn(valid), out),
            _ => dispatch::attend::<K, 4>(queries, unit, from_fn(valid), out),
        }
        row += n;
    }
}

/// The attention output of every token, heads one after the other, as activations for `wo`.
pub fn merge_heads(
    core: &Core<'_>,
    shape: &Shape,
    own: &mut Scratch<'_>,
    partials: &Shared<'_, F32x4>,
    wo: &Matrix<'_>,
) {
    let partials = core.read(partials);
    let item = shape.partials_per_item();
    own.begin(shape.n);
    for t in 0..shape.n {
        for head in 0..shape.n_heads {
            let (kv_head, in_group) = (head / shape.group(), head % shape.group());
            let row = (t * shape.group() + in_group) * partial_len(shape.head_dim);
            let out = &mut own.vector[head * shape.lanes()..][..shape.lanes()];
            let first = &partials[kv_head * item + row..];
            dispatch::merge(first, shape.n_kv_heads * item, shape.blocks_for(t), out);
        }
        own.vector[shape.n_heads * shape.lanes()..].fill(F32x4::ZERO);
        own.put(t, &[wo]);
    }
}
