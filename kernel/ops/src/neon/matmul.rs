//! Four rows times one or several tokens: see [`crate::scalar::matmul`].
//!
//! ```text
//! row 0  w0 w1 | x0 x1   smull  lo(w0)·lo(x0) → 8 × i16
//!                        smlal2 hi(w0)·hi(x0) → + (at most 2 · 128 · 127)
//!                        smull, smlal2 of w1, x1
//!                        saddlp, sadalp       → 4 × i32
//! rows 0 1 2 3           addp, addp, addp     → one i32 a row
//!                        scvtf, fmla with d_w · d_x
//! ```

use core::arch::aarch64::*;

use super::load::{load, settle};
use super::norm::{halve_to_four, sum_four};
use crate::activations::{FloatChunk, QuantPair};
use crate::arena::Plain;
use crate::lanes::F32x4;
use crate::packed::float::{Chunk16, Chunk32};
use crate::packed::{GROUP, Quantised, q4_0, q4_1, q4_k, q5_0, q5_1, q5_k, q6_k, q8_0};

/// Sixteen weights and sixteen more: one block of one row.
type Block = (int8x16_t, int8x16_t);

/// What a kernel needs to know of a slab.
struct Reader<S, B, M> {
    /// `d` of block `j`, four rows.
    scales: S,
    /// The integers of block `j`, four rows.
    blocks: B,
    /// `m` of block `j`, four rows, for formats with a minimum.
    minima: M,
    /// How far the integers are shifted to the left of their values.
    shift: u32,
}

/// Runs `tile` over every group of rows and every tile of tokens.
///
/// A group is `w_len` elements of `groups` and a tile is `x_len` elements of `x`. `out` is the rows'
/// part of a panel of `n_tokens` tokens.
#[inline]
#[target_feature(enable = "neon")]
fn for_tiles<W, X, const NT: usize>(
    groups: &[W],
    w_len: usize,
    x: &[X],
    x_len: usize,
    n_tokens: usize,
    out: &mut [F32x4],
    tile: impl Fn(&[W], &[X]) -> [F32x4; NT],
) {
    for (group, out) in groups
        .chunks_exact(w_len)
        .zip(out.chunks_exact_mut(n_tokens))
    {
        for (x, out) in x.chunks_exact(x_len).zip(out.chunks_mut(NT)) {
            let products = tile(group, x);
            // A whole tile is stored from registers, a part by a call.
            match out.as_mut_array::<NT>() {
                Some(out) => *out = products,
                None => out.copy_from_slice(&products[..out.len()]),
            }
        }
    }
}

/// The quantised formats' kernels: see [`crate::scalar::matmul::quantised`].
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident for $Q:ty = $reader:expr;)*) => {$(
        $(#[$doc])*
        #[target_feature(enable = "neon")]
        pub fn $name<const NT: usize>(
            groups: &[<$Q as Quantised>::Slab],
            x: &[QuantPair<NT>],
            n_blocks: usize,
            n_tokens: usize,
            out: &mut [F32x4],
        ) {
            let (w_len, x_len) = (n_blocks.div_ceil(<$Q>::BLOCKS), n_blocks.div_ceil(2));
            for_tiles(groups, w_len, x, x_len, n_tokens, out, |group, x| {
                tile::<$Q, _, _, _, NT>(group, x, n_blocks, &$reader)
            });
        }
    )*};
}

kernels! {
    /// Bytes as they are.
    q8_0 for q8_0::Q8_0 = Reader {
        scales: |w: &q8_0::Slab, j| widen_half(load(w, 0), j),
        blocks: |w: &q8_0::Slab, j: usize| core::array::from_fn(|r| {
            let at = 16 + (j * GROUP + r) * 32;
            (load(w, at), load(w, at + 16))
        }),
        minima: |_: &q8_0::Slab, _: usize| vdupq_n_f32(0.0),
        shift: 0,
    };

    /// Signed nibbles: the file's, less 8, in the upper half of a byte.
    q4_0 for q4_0::Q4_0 = Reader {
        scales: |w: &q4_0::Slab, j| widen_half(load(w, 0), j),
        blocks: |w: &q4_0::Slab, j: usize| core::array::from_fn(|r| {
            // Flipping a nibble's top bit takes 8 off, in two's complement.
            let q = veorq_u8(load(w, 16 + (j * GROUP + r) * 16), vdupq_n_u8(0x88));
            let high = vandq_u8(q, vdupq_n_u8(0xF0));
            (vreinterpretq_s8_u8(vshlq_n_u8::<4>(q)), vreinterpretq_s8_u8(high))
        }),
        minima: |_: &q4_0::Slab, _: usize| vdupq_n_f32(0.0),
        shift: 4,
    };

    /// Unsigned nibbles.
    q4_1 for q4_1::Q4_1 = Reader {
        scales: |w: &q4_1::Slab, j| widen_half(load(w, 0), j),
        blocks: |w: &q4_1::Slab, j: usize| {
            core::array::from_fn(|r| nibbles(load(w, 32 + (j * GROUP + r) * 16)))
        },
        minima: |w: &q4_1::Slab, j| widen_half(load(w, 16), j),
        shift: 0,
    };

    /// Nibbles with a fifth bit, less 16.
    q5_0 for q5_0::Q5_0 = Reader {
        scales: |w: &q5_0::Slab, j| widen_half(load(w, 0), j),
        blocks: |w: &q5_0::Slab, j: usize| {
            let high = load(w, 16 + j * 16);
            core::array::from_fn(|r| {
                let (a, b) = five_bits(load(w, 48 + (j * GROUP + r) * 16), high, r);
                (vsubq_s8(a, vdupq_n_s8(16)), vsubq_s8(b, vdupq_n_s8(16)))
            })
        },
        minima: |_: &q5_0::Slab, _: usize| vdupq_n_f32(0.0),
        shift: 0,
    };

    /// Nibbles with a fifth bit.
    q5_1 for q5_1::Q5_1 = Reader {
        scales: |w: &q5_1::Slab, j| widen_half(load(w, 0), j),
        blocks: |w: &q5_1::Slab, j: usize| {
            let high = load(w, 32 + j * 16);
            core::array::from_fn(|r| five_bits(load(w, 64 + (j * GROUP + r) * 16), high, r))
        },
        minima: |w: &q5_1::Slab, j| widen_half(load(w, 16), j),
        shift: 0,
    };

    /// Unsigned nibbles, scales of scales.
    q4_k for q4_k::Q4_K = Reader {
        scales: |w: &q4_k::Slab, j| k_scale(load(w, 0), 0, w.scale[j]),
        blocks: |w: &q4_k::Slab, j: usize| {
            core::array::from_fn(|r| nibbles(load(w, 80 + (j * GROUP + r) * 16)))
        },
        minima: |w: &q4_k::Slab, j| vnegq_f32(k_scale(load(w, 0), 1, w.minimum[j])),
        shift: 0,
    };

    /// Nibbles with a fifth bit, scales of scales.
    q5_k for q5_k::Q5_K = Reader {
        scales: |w: &q5_k::Slab, j| k_scale(load(w, 0), 0, w.scale[j]),
        blocks: |w: &q5_k::Slab, j: usize| {
            let high = load(w, 80 + j * 16);
            core::array::from_fn(|r| five_bits(load(w, 208 + (j * GROUP + r) * 16), high, r))
        },
        minima: |w: &q5_k::Slab, j| vnegq_f32(k_scale(load(w, 0), 1, w.minimum[j])),
        shift: 0,
    };
}

/// Four of eight halves as floats.
#[inline]
#[target_feature(enable = "neon")]
fn widen_half(bits: uint16x8_t, j: usize) -> float32x4_t {
    let halves = vreinterpretq_f16_u16(bits);
    if j == 0 {
        vcvt_f32_f16(vget_low_f16(halves))
    } else {
        vcvt_high_f32_f16(halves)
    }
}

/// Eight halves as floats.
#[inline]
#[target_feature(enable = "neon")]
fn widen_halves(bits: uint16x8_t) -> [float32x4_t; 2] {
    [widen_half(bits, 0), widen_half(bits, 1)]
}

/// Four of eight halves, each times a byte.
#[inline]
#[target_feature(enable = "neon")]
fn k_scale(halves: uint16x8_t, j: usize, bytes: [u8; GROUP]) -> float32x4_t {
    let words = vcreate_u32(u64::from(u32::from_le_bytes(bytes)));
    let halfwords = vget_low_u16(vmovl_u8(vreinterpret_u8_u32(words)));
    vmulq_f32(widen_half(halves, j), vcvtq_f32_u32(vmovl_u16(halfwords)))
}

/// The nibbles below and the nibbles above.
#[inline]
#[target_feature(enable = "neon")]
fn nibbles(q: uint8x16_t) -> Block {
    let low = vandq_u8(q, vdupq_n_u8(0xF));
    (
        vreinterpretq_s8_u8(low),
        vreinterpretq_s8_u8(vshrq_n_u8::<4>(q)),
    )
}

/// [`nibbles`] with row `r`'s bits of a plane in front.
#[inline]
#[target_feature(enable = "neon")]
fn five_bits(q: uint8x16_t, plane: uint8x16_t, r: usize) -> Block {
    let (low, high) = nibbles(q);
    let bit = |b: usize| {
        let set = vtstq_u8(plane, vdupq_n_u8(1 << b));
        vreinterpretq_s8_u8(vandq_u8(set, vdupq_n_u8(0x10)))
    };
    (vorrq_s8(low, bit(2 * r)), vorrq_s8(high, bit(2 * r + 1)))
}

/// One group times `NT` tokens.
#[inline]
#[target_feature(enable = "neon")]
fn tile<Q, S, B, M, const NT: usize>(
    group: &[Q::Slab],
    x: &[QuantPair<NT>],
    n_blocks: usize,
    reader: &Reader<S, B, M>,
) -> [F32x4; NT]
where
    Q: Quantised,
    S: Fn(&Q::Slab, usize) -> float32x4_t,
    B: Fn(&Q::Slab, usize) -> [Block; GROUP],
    M: Fn(&Q::Slab, usize) -> float32x4_t,
{
    let mut acc = [vdupq_n_f32(0.0); NT];
    let mut block = |w: &Q::Slab, b: usize, x: &QuantPair<NT>| {
        let (d, rows, j) = ((reader.scales)(w, b), (reader.blocks)(w, b), b % 2);
        for t in 0..NT {
            let at = (j * NT + t) * 32;
            let (x0, x1) = (load(x, at), load(x, at + 16));
            let [a, b, c, e] = rows.map(|(w0, w1)| dot(w0, w1, x0, x1));
            let dots = vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, e));
            let dots = if reader.shift == 4 {
                vshrq_n_s32::<4>(dots)
            } else {
                dots
            };
            let scale = vmulq_n_f32(d, x.d[j][t]);
            acc[t] = settle(vfmaq_f32(acc[t], vcvtq_f32_s32(dots), scale));
        }
        if Q::HAS_MIN {
            let m = (reader.minima)(w, b);
            for t in 0..NT {
                acc[t] = vfmaq_n_f32(acc[t], m, x.s[j][t]);
            }
        }
    };
    let whole = n_blocks / Q::BLOCKS;
    for (w, x) in group[..whole].iter().zip(x.chunks_exact(Q::BLOCKS / 2)) {
        for (p, x) in x.iter().enumerate() {
            block(w, 2 * p, x);
            block(w, 2 * p + 1, x);
        }
    }
    if whole < group.len() {
        block(&group[whole], 0, &x[whole]);
    }
    acc.map(|sum| to_lanes(sum))
}

/// Four partial sums of 32 products.
#[inline]
#[target_feature(enable = "neon")]
fn dot(w0: int8x16_t, w1: int8x16_t, x0: int8x16_t, x1: int8x16_t) -> int32x4_t {
    let first = vmull_s8(vget_low_s8(w0), vget_low_s8(x0));
    let first = vmlal_high_s8(first, w0, x0);
    let second = vmull_s8(vget_low_s8(w1), vget_low_s8(x1));
    let second = vmlal_high_s8(second, w1, x1);
    vpadalq_s16(vpaddlq_s16(first), second)
}

/// Q6_K, whose blocks have a scale for each half.
#[target_feature(enable = "neon")]
pub fn q6_k<const NT: usize>(
    groups: &[q6_k::Slab],
    x: &[QuantPair<NT>],
    n_blocks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let (w_len, x_len) = (n_blocks.div_ceil(8), n_blocks.div_ceil(2));
    for_tiles(groups, w_len, x, x_len, n_tokens, out, |group, x| {
        let mut acc = [vdupq_n_f32(0.0); NT];
        for (w, x) in group.iter().zip(x.chunks_exact(4)) {
            for (p, x) in x.iter().enumerate() {
                q6_k_block(w, 2 * p, x, &mut acc);
                q6_k_block(w, 2 * p + 1, x, &mut acc);
            }
        }
        acc.map(|sum| to_lanes(sum))
    });
}

#[inline]
#[target_feature(enable = "neon")]
fn q6_k_block<const NT: usize>(
    w: &q6_k::Slab,
    b: usize,
    x: &QuantPair<NT>,
    acc: &mut [float32x4_t; NT],
) {
    let d = widen_half(load(w, 0), 0);
    let [first, second] = w.scale[b].map(|scales| {
        let bytes = vcreate_s8(u64::from(u32::from_le_bytes(scales.map(|s| s as u8))));
        vmovl_s16(vget_low_s16(vmovl_s8(bytes)))
    });
    let at = 80 + b * 32;
    let (fifth, sixth) = (load(w, at), load(w, at + 16));
    let rows: [Block; GROUP] = core::array::from_fn(|r| {
        let (a, b) = five_bits(load(w, 336 + (b * GROUP + r) * 16), fifth, r);
        let bit = |b: usize| {
            let set = vtstq_u8(sixth, vdupq_n_u8(1 << b));
            // Less 32 where the bit is not set.
            vreinterpretq_s8_u8(vbicq_u8(vdupq_n_u8(32), set))
        };
        (vsubq_s8(a, bit(2 * r)), vsubq_s8(b, bit(2 * r + 1)))
    });
    let j = b % 2;
    for t in 0..NT {
        let at = (j * NT + t) * 32;
        let (x0, x1) = (load(x, at), load(x, at + 16));
        let sum = |half: fn(&Block) -> int8x16_t, x: int8x16_t| {
            let [a, b, c, d] = core::array::from_fn(|r| {
                let w = half(&rows[r]);
                let products = vmull_s8(vget_low_s8(w), vget_low_s8(x));
                vpaddlq_s16(vmlal_high_s8(products, w, x))
            });
            vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d))
        };
        let dots = vmulq_s32(sum(|row| row.0, x0), first);
        let dots = vmlaq_s32(dots, sum(|row| row.1, x1), second);
        let scale = vmulq_n_f32(d, x.d[j][t]);
        acc[t] = settle(vfmaq_f32(acc[t], vcvtq_f32_s32(dots), scale));
    }
}

/// F32 rows: see [`crate::scalar::matmul::float`].
#[target_feature(enable = "neon")]
pub fn f32<const NT: usize>(
    groups: &[Chunk32],
    x: &[FloatChunk<NT>],
    n_chunks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let widen = |chunk: &Chunk32, r: usize| core::array::from_fn(|i| load(chunk, r * 64 + i * 16));
    for_tiles(groups, n_chunks, x, n_chunks, n_tokens, out, |group, x| {
        float_tile(group, x, widen)
    });
}

/// F16 rows: see [`crate::scalar::matmul::float`].
#[target_feature(enable = "neon")]
pub fn f16<const NT: usize>(
    groups: &[Chunk16],
    x: &[FloatChunk<NT>],
    n_chunks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let widen = |chunk: &Chunk16, r: usize| {
        let [a, b] = widen_halves(load(chunk, r * 32));
        let [c, d] = widen_halves(load(chunk, r * 32 + 16));
        [a, b, c, d]
    };
    for_tiles(groups, n_chunks, x, n_chunks, n_tokens, out, |group, x| {
        float_tile(group, x, widen)
    });
}

/// BF16 rows: see [`crate::scalar::matmul::float`].
#[target_feature(enable = "neon")]
pub fn bf16<const NT: usize>(
    groups: &[Chunk16],
    x: &[FloatChunk<NT>],
    n_chunks: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    let widen_eight = |bits: uint16x8_t| {
        [
            vreinterpretq_f32_u32(vshll_n_u16::<16>(vget_low_u16(bits))),
            vreinterpretq_f32_u32(vshll_high_n_u16::<16>(bits)),
        ]
    };
    let widen = |chunk: &Chunk16, r: usize| {
        let [a, b] = widen_eight(load(chunk, r * 32));
        let [c, d] = widen_eight(load(chunk, r * 32 + 16));
        [a, b, c, d]
    };
    for_tiles(groups, n_chunks, x, n_chunks, n_tokens, out, |group, x| {
        float_tile(group, x, widen)
    });
}

#[inline]
#[target_feature(enable = "neon")]
fn float_tile<C: Plain, const NT: usize>(
    group: &[C],
    x: &[FloatChunk<NT>],
    widen: impl Fn(&C, usize) -> [float32x4_t; 4],
) -> [F32x4; NT] {
    let mut fours = [[vdupq_n_f32(0.0); GROUP]; NT];
    for r in 0..GROUP {
        let mut lanes = [[vdupq_n_f32(0.0); 4]; NT];
        for (w, x) in group.iter().zip(x) {
            let w = widen(w, r);
            for t in 0..NT {
                for i in 0..4 {
                    lanes[t][i] = vfmaq_f32(lanes[t][i], w[i], load(x, t * 64 + i * 16));
                }
            }
        }
        for t in 0..NT {
            fours[t][r] = halve_to_four(lanes[t]);
        }
    }
    fours.map(|rows| to_lanes(sum_four(rows)))
}

#[inline]
#[target_feature(enable = "neon")]
fn to_lanes(v: float32x4_t) -> F32x4 {
    let mut lanes = F32x4::ZERO;
    super::load::store(&mut lanes, 0, v);
    lanes
}
