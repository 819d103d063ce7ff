//! Q8_0: 32 weights in 34 bytes, an f16 scale `d` and 32 signed bytes. Weight `i` is `d · q_i`.

use super::{GROUP, Quantised};
use crate::arena::Plain;
use crate::float::f16_to_f32;

/// Four rows of two blocks in 272 bytes.
///
/// ```text
///   0  d of block 0, rows 0 1 2 3 · d of block 1, rows 0 1 2 3      (f16)
///  16  block 0: row 0, 32 bytes · row 1 · row 2 · row 3
/// 144  block 1: row 0, 32 bytes · row 1 · row 2 · row 3
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct Pair {
    /// Scales, as bits.
    pub d: [[u16; GROUP]; 2],
    /// Weights.
    pub q: [[[i8; 32]; GROUP]; 2],
}

const _: () = assert!(size_of::<Pair>() == 2 * GROUP * 34);

// SAFETY: numbers only, no padding.
unsafe impl Plain for Pair {}

/// The format.
pub enum Q8_0 {}

impl Quantised for Q8_0 {
    type Pair = Pair;
    const HAS_MIN: bool = false;
    const FILE_BLOCK_LEN: usize = 32;
    const FILE_BLOCK_BYTES: usize = 34;

    #[inline(always)] // Must take on the caller's target features.
    fn dot(pair: &Pair, j: usize, r: usize, x: &[i8; 32]) -> i32 {
        let mut sum = 0;
        for (&q, &x) in pair.q[j][r].iter().zip(x) {
            sum += i32::from(q) * i32::from(x);
        }
        sum
    }

    #[inline(always)] // Must take on the caller's target features.
    fn scales(pair: &Pair, j: usize) -> [f32; GROUP] {
        pair.d[j].map(f16_to_f32)
    }

    fn minima(_: &Pair, _: usize) -> [f32; GROUP] {
        [0.0; GROUP]
    }

    fn quants(pair: &Pair, j: usize, r: usize) -> [i8; 32] {
        pair.q[j][r]
    }

    fn pack_row(file_row: &[u8], r: usize, pairs: &mut [Pair]) {
        for (b, block) in file_row.chunks_exact(Self::FILE_BLOCK_BYTES).enumerate() {
            let pair = &mut pairs[b / 2];
            pair.d[b % 2][r] = u16::from_le_bytes([block[0], block[1]]);
            for (q, &byte) in pair.q[b % 2][r].iter_mut().zip(&block[2..]) {
                *q = byte as i8;
            }
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn mul_neon<const NT: usize>(
        groups: &[Pair],
        x: &[crate::activations::QuantPair<NT>],
        n_blocks: usize,
        n_tokens: usize,
        out: &mut [crate::lanes::F32x4],
    ) {
        // SAFETY: every AArch64 core that this runs on has AdvSIMD.
        unsafe { crate::neon::matmul::q8_0(groups, x, n_blocks, n_tokens, out) }
    }
}
